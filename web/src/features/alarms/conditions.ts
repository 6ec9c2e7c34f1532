/** The conditions of alarms, as a form asks for them. Pure. */
import { type Span, spanSeconds } from "../../lib/spans";
import type { NewAlarm } from "../../services/alarms";

export type SubjectKind = "TASK" | "JOB" | "GROUP" | "FLOW" | "NODE" | "WEBHOOK" | "DATABASE";

/** `span`: a number with a unit of time; `clock`: a time of day. The others are numbers. */
type FieldKind = "span" | "clock" | "count" | "times" | "percent" | "gigabytes";

export interface ConditionField {
  readonly name: string;
  readonly label: string;
  readonly kind: FieldKind;
  readonly hint?: string;
}

export interface ConditionForm {
  readonly key: string;
  readonly word: string;
  /** What it can watch. */
  readonly of: readonly SubjectKind[];
  readonly fields: readonly ConditionField[];
  /** Exactly one of its fields is filled in. */
  readonly oneOf?: boolean;
}

const RUNS: readonly SubjectKind[] = ["TASK", "JOB", "GROUP"];

export const CONDITIONS: readonly ConditionForm[] = [
  {
    key: "late",
    word: "It does not start in time, or is missed",
    of: ["TASK"],
    fields: [{ name: "grace", label: "Late by more than", kind: "span", hint: "Empty: 1 minute" }],
  },
  {
    key: "overdue",
    oneOf: true,
    word: "It is not done in time",
    of: ["TASK"],
    fields: [
      { name: "dueBy", label: "Not done by", kind: "clock", hint: "A time of day in the zone of the task: 06:00" },
      { name: "after", label: "… or not done after", kind: "span", hint: "From the time it was due at" },
    ],
  },
  {
    key: "failing",
    word: "Its runs fail",
    of: [...RUNS, "FLOW"],
    fields: [
      { name: "failedRuns", label: "So many in a row", kind: "count", hint: "Empty: 1, unless a share is given" },
      { name: "failedShare", label: "… or this share", kind: "percent" },
      { name: "ofRuns", label: "of its last runs", kind: "count", hint: "2 to 60" },
    ],
  },
  {
    key: "newError",
    word: "It fails with a new kind of error",
    of: RUNS,
    fields: [{ name: "quiet", label: "New again after", kind: "span", hint: "Empty: 30 days" }],
  },
  {
    key: "slow",
    oneOf: true,
    word: "It takes too long",
    of: [...RUNS, "FLOW"],
    fields: [
      { name: "after", label: "Longer than", kind: "span" },
      { name: "timesP95", label: "… or longer than its usual duration (p95)", kind: "times" },
    ],
  },
  {
    key: "empty",
    word: "It succeeds without records",
    of: RUNS,
    fields: [{ name: "leastRecords", label: "Fewer records than", kind: "count", hint: "Empty: 1" }],
  },
  {
    key: "backlog",
    word: "Its runs wait too long, or too many wait",
    of: ["GROUP"],
    fields: [
      { name: "olderThan", label: "The oldest waits longer than", kind: "span" },
      { name: "deeperThan", label: "… or more wait than", kind: "count" },
    ],
  },
  { key: "node", word: "It is lost or silent", of: ["NODE"], fields: [] },
  {
    key: "idle",
    word: "It sends heartbeats and takes nothing",
    of: ["NODE"],
    fields: [{ name: "after", label: "Although a run has been due for", kind: "span", hint: "Empty: 5 minutes" }],
  },
  {
    key: "skew",
    word: "Its clock is off",
    of: ["NODE"],
    fields: [{ name: "mostSkew", label: "By more than", kind: "span", hint: "Empty: 2 seconds" }],
  },
  { key: "webhook", word: "It is switched off or parked", of: ["WEBHOOK"], fields: [] },
  {
    key: "database",
    word: "It has too little room, or something holds it up",
    of: ["DATABASE"],
    fields: [
      { name: "largerThan", label: "Larger than", kind: "gigabytes" },
      { name: "leastFree", label: "… or less free on its disk than", kind: "gigabytes", hint: "SQLite alone" },
      { name: "transaction", label: "… or a transaction open for", kind: "span" },
      { name: "lag", label: "… or a standby behind by", kind: "span" },
    ],
  },
];

/** The conditions of a kind of thing. */
export function conditionsOf(kind: SubjectKind): readonly ConditionForm[] {
  return CONDITIONS.filter(({ of }) => of.includes(kind));
}

export type Values = Readonly<Record<string, Span>>;

/** What may stand in a field of a kind, in words. */
const MUST: Readonly<Record<FieldKind, string>> = {
  span: "Must be a number, or empty",
  clock: "Must be a time of day such as 06:00, or empty",
  count: "Must be a whole number, or empty",
  times: "Must be a number, or empty",
  percent: "Must be a number up to 100, or empty",
  gigabytes: "Must be a number, or empty",
};
const GIGABYTE = 1e9;

/** The value of a field; null where nothing is typed, undefined where it cannot be sent. */
function readField(kind: FieldKind, value: Span): number | string | null | undefined {
  const text = value.count.trim();
  if (text === "") return null;
  if (kind === "clock") return /^([01]\d|2[0-3]):[0-5]\d$/.test(text) ? text : undefined;
  const number = kind === "span" ? (spanSeconds(value) ?? 0) : spanSeconds({ count: text, unit: "s" });
  if (number === null || Number.isNaN(number)) return undefined;
  if (kind === "count" && !Number.isInteger(number)) return undefined;
  if (kind === "percent") return number <= 100 ? number / 100 : undefined;
  return kind === "gigabytes" ? Math.round(number * GIGABYTE) : number;
}

/** What is wrong with the fields of a condition, by their names. */
export function faultsOf({ fields, oneOf = false }: ConditionForm, values: Values): ReadonlyMap<string, string> {
  const wrong = fields.flatMap(({ name, kind }) => {
    const value = values[name];
    return value !== undefined && readField(kind, value) === undefined ? [[name, MUST[kind]] as const] : [];
  });
  const [first] = fields;
  const given = fields.filter(({ name }) => (values[name]?.count ?? "").trim() !== "");
  if (wrong.length > 0 || !oneOf || given.length === 1 || first === undefined) return new Map(wrong);
  return new Map([[first.name, "Fill in one of the two"]]);
}

/** The condition as the API takes it; empty fields are left to their defaults. */
export function conditionOf({ key, fields }: ConditionForm, values: Values): NewAlarm["condition"] {
  const given = fields.flatMap(({ kind, name }) => {
    const value = values[name] === undefined ? null : readField(kind, values[name]);
    return value === null || value === undefined ? [] : [[name, value] as const];
  });
  // The server judges it: which fields a condition has is a matter of the list above.
  return { [key]: fields.length === 0 ? true : Object.fromEntries(given) } as NewAlarm["condition"];
}

export interface Subject {
  readonly kind: SubjectKind;
  /** Of nodes and webhooks, none is every one. */
  readonly name: string;
}

/** The thing as the API takes it. */
export function subjectOf({ kind, name }: Subject): NewAlarm["subject"] {
  switch (kind) {
    case "TASK":
      return { task: name };
    case "JOB":
      return { job: name };
    case "GROUP":
      return { group: name };
    case "FLOW":
      return { flow: name };
    case "NODE":
      return name === "" ? { anyNode: true } : { node: name };
    case "WEBHOOK":
      return name === "" ? { anyWebhook: true } : { webhook: name };
    case "DATABASE":
      return { database: true };
  }
}
