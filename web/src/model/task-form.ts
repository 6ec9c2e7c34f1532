/** The task form: what is typed (all text), and what of it is sent. */

import { labelsOf } from "../lib/labels";
import { type Rate, rateText, readRate } from "../lib/limits";
import { type Resources, readResources, resourcesText } from "../lib/resources";
import { localInput, readTime, type Zone } from "../lib/time";

export { localInput, readTime };

export type Syntax = "CRON" | "CALENDAR" | "INTERVAL" | "TIMESTAMP";

export interface TaskForm {
  readonly name: string;
  readonly jobName: string;
  readonly description: string;
  readonly syntax: Syntax;
  readonly value: string;
  readonly timezone: string;
  /** JSON. */
  readonly args: string;
  readonly group: string;
  readonly priority: string;
  readonly owner: string;
  /** `team=billing, plan=pro` */
  readonly labels: string;
  /** `gpus=2, memory=8GiB, account=physics`: of a job at an engine. */
  readonly resources: string;
  /** `100/1m, 20 at once` */
  readonly rate: string;
  readonly overlap: string;
  readonly misfire: string;
  readonly misfireGrace: string;
  readonly catchUpLimit: string;
  readonly tolerance: string;
  readonly timeout: string;
  readonly retries: string;
  readonly retryDelay: string;
  readonly jitter: string;
  /** As `<input type="datetime-local">` writes it, read in the zone that times are shown in. */
  readonly startAt: string;
  readonly endAt: string;
}

export const EMPTY_FORM: TaskForm = {
  name: "",
  jobName: "",
  description: "",
  syntax: "CRON",
  value: "",
  timezone: "UTC",
  args: "{}",
  group: "",
  priority: "",
  owner: "",
  labels: "",
  resources: "",
  rate: "",
  overlap: "",
  misfire: "",
  misfireGrace: "",
  catchUpLimit: "",
  tolerance: "",
  timeout: "",
  retries: "",
  retryDelay: "",
  jitter: "",
  startAt: "",
  endAt: "",
};

export type FormField = keyof TaskForm;
export type FormErrors = Partial<Record<FormField, string>>;

const NUMBERS = ["misfireGrace", "catchUpLimit", "tolerance", "timeout", "retries", "retryDelay", "jitter"] as const;
const WHOLE: readonly string[] = ["catchUpLimit", "retries"];
const TEXTS = ["jobName", "description", "group", "priority", "owner", "overlap", "misfire"] as const;
const TIMES = ["startAt", "endAt"] as const;

type Value = string | number | boolean | null | Record<string, unknown>;

function readNumber(field: string, text: string): number | string {
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0) return `Must be a number of at least 0, got '${text}'`;
  if (WHOLE.includes(field) && !Number.isInteger(value)) return `Must be a whole number, got '${text}'`;
  return value;
}

/** The arguments as an object, or what is wrong with the JSON. */
export function readArgs(text: string): Record<string, unknown> | string {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    return 'Must be a JSON object, such as {"batch": 100}';
  } catch (error) {
    return `Not valid JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Labels written as `team=billing, plan=pro`, or what is wrong with them; a value may have no comma. */
export function readLabels(text: string): Record<string, string> | string {
  const found: Record<string, string> = {};
  for (const pair of text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "")) {
    const equals = pair.indexOf("=");
    const [key, value] = [pair.slice(0, Math.max(equals, 0)).trim(), pair.slice(equals + 1).trim()];
    if (key === "" || value === "") return `Write key=value, such as team=billing, got '${pair}'`;
    if (key in found) return `'${key}' is given twice`;
    found[key] = value;
  }
  return found;
}

/** What is sent for each field whose text differs from `before`; empty text means "the default" (null). */
export function changedFields(
  form: TaskForm,
  before: TaskForm,
  zone: Zone,
): { input: Record<string, unknown>; errors: FormErrors } {
  const input: Record<string, Value> = {};
  const errors: FormErrors = {};
  const changed = (field: FormField): boolean => form[field] !== before[field];
  for (const field of TEXTS) if (changed(field)) input[field] = form[field].trim() === "" ? null : form[field].trim();
  for (const field of NUMBERS) {
    if (!changed(field)) continue;
    const value = form[field].trim() === "" ? null : readNumber(field, form[field].trim());
    if (typeof value === "string") errors[field] = value;
    else input[field] = value;
  }
  for (const field of TIMES) if (changed(field)) input[field] = form[field] === "" ? null : readTime(form[field], zone);
  if (changed("args")) {
    const args = readArgs(form.args);
    if (typeof args === "string") errors.args = args;
    else input["args"] = args;
  }
  if (changed("labels")) {
    const labels = readLabels(form.labels);
    if (typeof labels === "string") errors.labels = labels;
    else input["labels"] = labels;
  }
  if (changed("resources")) {
    const resources = readResources(form.resources);
    if (typeof resources === "string") errors.resources = resources;
    else input["resources"] = resources;
  }
  if (changed("rate")) {
    const rate = form.rate.trim() === "" ? null : readRate(form.rate);
    if (typeof rate === "string") errors.rate = rate;
    else input["rate"] = rate === null ? null : { ...rate };
  }
  if (changed("syntax") || changed("value") || changed("timezone")) input["schedule"] = scheduleInput(form);
  return { input, errors };
}

export function scheduleInput(form: TaskForm): { syntax: Syntax; value: string; timezone: string } {
  return { syntax: form.syntax, value: form.value.trim(), timezone: form.timezone.trim() || "UTC" };
}

/** What is missing in a form that makes a new task. */
export function missing(form: TaskForm): FormErrors {
  return {
    ...(form.name.trim() === "" && { name: "A task needs a name" }),
    ...(form.jobName.trim() === "" && { jobName: "Which job shall it run?" }),
    ...(form.value.trim() === "" && { value: "When shall it run?" }),
  };
}

/** The field of the form that a server's error path names; null for errors of the whole. */
export function fieldOfPath(path: readonly string[]): FormField | null {
  const [first, second] = path[0] === "input" ? path.slice(1) : path;
  if (first === "schedule") return second === "timezone" || second === "syntax" ? second : "value";
  return first !== undefined && first in EMPTY_FORM ? (first as FormField) : null;
}

/** What the form needs to know of a task that it edits. */
export interface EditableTask {
  readonly name: string;
  readonly jobName: string;
  readonly description: string;
  readonly schedule: { readonly syntax: Syntax; readonly value: string; readonly timezone: string };
  readonly args: unknown;
  readonly group: string;
  readonly priority: string;
  readonly owner: string | null;
  readonly labels: unknown;
  readonly resources: Resources | null;
  readonly rate: Rate | null;
  readonly overlap: string;
  readonly misfire: string;
  readonly misfireGrace: number;
  readonly catchUpLimit: number;
  readonly tolerance: number | null;
  readonly timeout: number | null;
  readonly retries: number;
  readonly retryDelay: number;
  readonly jitter: number;
  readonly startAt: string | null;
  readonly endAt: string | null;
}

function text(value: number | string | null): string {
  return value === null ? "" : String(value);
}

/** The form filled with a task, its times in that zone. */
export function formOfTask(task: EditableTask, zone: Zone): TaskForm {
  return {
    name: task.name,
    jobName: task.jobName,
    description: task.description,
    ...task.schedule,
    args: JSON.stringify(task.args ?? {}, null, 2),
    group: task.group,
    priority: task.priority,
    owner: text(task.owner),
    labels: labelsOf(task.labels)
      .map(([key, value]) => `${key}=${value}`)
      .join(", "),
    resources: task.resources === null ? "" : resourcesText(task.resources),
    rate: task.rate === null ? "" : rateText(task.rate),
    overlap: task.overlap,
    misfire: task.misfire,
    misfireGrace: text(task.misfireGrace),
    catchUpLimit: text(task.catchUpLimit),
    tolerance: text(task.tolerance),
    timeout: text(task.timeout),
    retries: text(task.retries),
    retryDelay: text(task.retryDelay),
    jitter: text(task.jitter),
    startAt: localInput(task.startAt, zone),
    endAt: localInput(task.endAt, zone),
  };
}
