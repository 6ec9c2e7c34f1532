/** Two people have edited the same task: which fields both changed, and what comes of their choices. */
import type { FormField, TaskForm } from "./task-form";

/** A part of the form that is chosen as a whole, with its label. */
interface Part {
  readonly label: string;
  readonly fields: readonly FormField[];
}

const PARTS: readonly Part[] = [
  { label: "Job", fields: ["jobName"] },
  { label: "Schedule", fields: ["syntax", "value", "timezone"] },
  { label: "Description", fields: ["description"] },
  { label: "Arguments", fields: ["args"] },
  { label: "Overlap", fields: ["overlap"] },
  { label: "Missed occurrences", fields: ["misfire"] },
  { label: "Late by up to (s)", fields: ["misfireGrace"] },
  { label: "Catch up at most", fields: ["catchUpLimit"] },
  { label: "Time box (s)", fields: ["timeout"] },
  { label: "Tolerance (s)", fields: ["tolerance"] },
  { label: "Retries", fields: ["retries"] },
  { label: "Retry delay (s)", fields: ["retryDelay"] },
  { label: "Jitter (s)", fields: ["jitter"] },
  { label: "Group", fields: ["group"] },
  { label: "Priority", fields: ["priority"] },
  { label: "Owner", fields: ["owner"] },
  { label: "Labels", fields: ["labels"] },
  { label: "At the engine", fields: ["resources"] },
  { label: "Starts at most", fields: ["rate"] },
  { label: "Not before", fields: ["startAt"] },
  { label: "Not after", fields: ["endAt"] },
];

export type Choice = "mine" | "theirs";
/** By label. */
export type Choices = Readonly<Record<string, Choice>>;

/** A part that somebody else has changed since the form was opened. */
export interface Change extends Part {
  readonly before: string;
  /** What is typed here; null if it was not touched, and theirs is taken without a question. */
  readonly mine: string | null;
  readonly theirs: string;
}

function shown(form: TaskForm, fields: readonly FormField[]): string {
  return fields
    .map((field) => form[field])
    .filter((text) => text !== "")
    .join(" ");
}

/** What has changed between the form as it was opened and as it is stored now, unless the same is typed here. */
export function changesOf(opened: TaskForm, stored: TaskForm, typed: Partial<TaskForm>): readonly Change[] {
  return PARTS.filter(({ fields }) => fields.some((field) => stored[field] !== opened[field])).flatMap((part) => {
    const form = { ...opened, ...typed };
    const touched = part.fields.some((field) => form[field] !== opened[field]);
    const mine = touched ? shown(form, part.fields) : null;
    const theirs = shown(stored, part.fields);
    return mine === theirs ? [] : [{ ...part, before: shown(opened, part.fields), mine, theirs }];
  });
}

/** The form that is sent: what is typed over what is stored, but where theirs is chosen. */
export function merged(
  opened: TaskForm,
  stored: TaskForm,
  typed: Partial<TaskForm>,
  changes: readonly Change[],
  choices: Choices,
): TaskForm {
  const form: Record<FormField, string> = { ...stored, ...typed };
  for (const { label, fields, mine } of changes) {
    const kept = mine !== null && choices[label] !== "theirs";
    for (const field of fields) form[field] = kept ? (typed[field] ?? opened[field]) : stored[field];
  }
  return form as unknown as TaskForm;
}
