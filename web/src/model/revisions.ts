/** What a change changed, in words, and what going back to it would change. Pure. */
import { type Rate, rateText } from "../lib/limits";

/** A field of a revision; JSON. */
export interface FieldChange {
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

export interface Revision {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly isMade: boolean;
  readonly isDeleted: boolean;
  readonly changes: readonly FieldChange[];
}

/** One field that changed; a text is null where the thing did not exist. */
export interface ChangeLine {
  readonly label: string;
  readonly before: string | null;
  readonly after: string | null;
}

const LABELS: Readonly<Record<string, string>> = {
  argsSchema: "form of the arguments",
  args: "arguments",
  inherits: "follows the job",
  setName: "file",
  resumeAt: "paused until",
  misfire: "missed occurrences",
  resources: "at the engine",
  rate: "starts at most",
  cap: "waiting at most",
  keep: "history kept (s)",
};

/** `retryDelay` and `retry_delay` read "retry delay". */
export function fieldLabel(field: string): string {
  return (
    LABELS[field] ??
    field
      .replaceAll("_", " ")
      .replace(/([a-z])([A-Z])/g, "$1 $2")
      .toLowerCase()
  );
}

type Members = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value as people write it. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined || value === "") return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(valueText).join(", ");
  if (!isObject(value)) return String(value);
  if ("$hidden" in value) return "(hidden)";
  if ("syntax" in value && "timezone" in value) return `${valueText(value["value"])} (${valueText(value["timezone"])})`;
  if ("per" in value && "limit" in value) return rateText(value as unknown as Rate);
  return Object.keys(value).length === 0 ? "none" : JSON.stringify(value);
}

function lineOf(label: string, { before, after }: Pick<FieldChange, "before" | "after">): ChangeLine {
  const [was, is] = [valueText(before), valueText(after)];
  return { label, before: was, after: was === is && was === "(hidden)" ? "(hidden), another one" : is };
}

/** Arguments, labels and resources by their members: only those that differ. */
const BY_MEMBER: ReadonlySet<string> = new Set(["args", "labels", "resources"]);

function linesOfField(change: FieldChange): readonly ChangeLine[] {
  const { field, before, after } = change;
  const [was, is] = [before ?? {}, after ?? {}];
  const whole = !BY_MEMBER.has(field) || !isObject(was) || !isObject(is) || "$hidden" in was || "$hidden" in is;
  if (whole) return [lineOf(fieldLabel(field), change)];
  return [...new Set([...Object.keys(was), ...Object.keys(is)])]
    .filter((name) => JSON.stringify(was[name]) !== JSON.stringify(is[name]) || "$hidden" in Object(is[name]))
    .map((name) =>
      lineOf(`${field === "args" ? "argument" : "label"} ${name}`, { before: was[name], after: is[name] }),
    );
}

/** The lines of a revision; of a thing that was made, or is gone, its values. */
export function linesOf({ changes, isMade, isDeleted }: Omit<Revision, "id" | "kind" | "name">): readonly ChangeLine[] {
  return changes
    .filter(({ field }) => field !== "inherits" && !(field === "enabled" && (isMade || isDeleted)))
    .flatMap(linesOfField)
    .map((line) => ({
      ...line,
      before: isMade ? null : line.before,
      after: isDeleted ? null : line.after,
    }));
}

/** The fields of an entry of the audit log, if it has any: those of both sides. */
export function fieldsOf(before: unknown, after: unknown): readonly FieldChange[] | null {
  const [was, is] = [before ?? {}, after ?? {}];
  if (!isObject(was) || !isObject(is)) return null;
  return [...new Set([...Object.keys(was), ...Object.keys(is)])].map((field) => ({
    field,
    before: was[field],
    after: is[field],
  }));
}

/** Fields that going back leaves alone. */
const KEPT: ReadonlySet<string> = new Set(["enabled", "pausedBy", "pauseReason", "resumeAt", "setName"]);

function goesBack({ kind, changes }: Revision): boolean {
  return changes.some(({ field }) => (kind === "JOB" ? field === "rate" : !KEPT.has(field)));
}

/**
 * What going back to a revision would change, by the revisions after it; null if that cannot be, or would change
 * nothing. `revisions` begins with the newest.
 */
export function wayBack(revisions: readonly Revision[], id: string): readonly ChangeLine[] | null {
  const place = revisions.findIndex((one) => one.id === id);
  const wanted = revisions[place];
  if (wanted === undefined || wanted.isDeleted) return null;
  const later = revisions.slice(0, place).filter(({ kind, name }) => kind === wanted.kind && name === wanted.name);
  if (later.some(({ isMade, isDeleted }) => isMade || isDeleted) || !later.some(goesBack)) return null;
  const fields = new Map<string, FieldChange>();
  for (const { changes } of later) {
    for (const { field, before, after } of changes) {
      if (KEPT.has(field) || (wanted.kind === "JOB" && field !== "rate")) continue;
      const present = fields.get(field);
      fields.set(field, { field, before: present === undefined ? after : present.before, after: before });
    }
  }
  const changes = [...fields.values()].filter(({ before, after }) => JSON.stringify(before) !== JSON.stringify(after));
  const lines = linesOf({ changes, isMade: false, isDeleted: false });
  return lines.length === 0 ? null : lines;
}
