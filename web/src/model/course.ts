/** The times that a run or an execution has gone through, in order. Pure. */

export interface Step {
  readonly name: string;
  readonly at: string;
}

export interface Course {
  readonly submittedAt: string;
  /** When it was or is due; null where that says nothing about this attempt. */
  readonly availableAt: string | null;
  readonly startedAt: string | null;
  readonly completedAt: string | null;
  /** What it ended as. */
  readonly outcome: string;
  /** An attempt is over and another one is to come, at `availableAt`. */
  readonly stuck?: boolean;
}

/** Due times this much after the submission are worth a step, in milliseconds. */
const LATER = 500;

export function courseOf({ submittedAt, availableAt, startedAt, completedAt, outcome, stuck = false }: Course): readonly Step[] {
  const isLater = availableAt !== null && Date.parse(availableAt) > Date.parse(submittedAt) + LATER;
  const due = isLater && !stuck && (startedAt === null || Date.parse(availableAt) <= Date.parse(startedAt));
  return [
    { name: "queued", at: submittedAt },
    ...(due ? [{ name: "due", at: availableAt }] : []),
    ...(startedAt === null ? [] : [{ name: stuck ? "last attempt" : "started", at: startedAt }]),
    ...(stuck && availableAt !== null ? [{ name: "next attempt", at: availableAt }] : []),
    ...(completedAt === null ? [] : [{ name: outcome, at: completedAt }]),
  ];
}
