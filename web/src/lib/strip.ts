/** The strip of a task's last occurrences: one bar each, its height the logarithm of the duration. */

export interface StripBar {
  readonly key: string;
  /** Outcome or state that decides the colour. */
  readonly status: string;
  readonly at: string;
  /** From 0 (shortest) to 1 (an hour and more). */
  readonly height: number;
  readonly text: string;
}

interface StripRun {
  readonly __typename: "Run";
  readonly id: string;
  readonly state: string;
  readonly scheduledFor: string | null;
  readonly submittedAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
}

interface StripSkip {
  readonly __typename: "SkippedOccurrence";
  readonly id: string;
  readonly reason: string;
  readonly count: number;
  readonly lastScheduledFor: string;
}

export type StripOccurrence = StripRun | StripSkip;

const SHORTEST = 0.01;
const LONGEST = 3600;

/** The height of a duration in seconds: logarithmic, so that milliseconds and minutes both show. */
export function logHeight(seconds: number): number {
  const value = Math.min(LONGEST, Math.max(SHORTEST, seconds));
  return Math.log(value / SHORTEST) / Math.log(LONGEST / SHORTEST);
}

/** The bars, oldest first. */
export function stripBars(occurrences: readonly StripOccurrence[], describe: (seconds: number) => string): readonly StripBar[] {
  return occurrences
    .map((occurrence) => bar(occurrence, describe))
    .sort((left, right) => Date.parse(left.at) - Date.parse(right.at));
}

function bar(one: StripOccurrence, describe: (seconds: number) => string): StripBar {
  if (one.__typename === "Run") {
    const seconds = length(one);
    const text = `${one.state.toLowerCase()}${seconds === null ? "" : `, ${describe(seconds)}`}`;
    return { key: `r${one.id}`, status: one.state, at: one.scheduledFor ?? one.submittedAt, height: seconds === null ? 0.15 : logHeight(seconds), text };
  }
  const text = `skipped: ${one.reason.toLowerCase()}${one.count > 1 ? ` (${one.count} times)` : ""}`;
  return { key: `s${one.id}`, status: "SKIPPED", at: one.lastScheduledFor, height: 0, text };
}

/** The seconds from start to end of a run; null until it has ended. */
function length({ startedAt, finishedAt }: StripRun): number | null {
  return startedAt !== null && finishedAt !== null ? (Date.parse(finishedAt) - Date.parse(startedAt)) / 1000 : null;
}

/** A quantile of numbers by linear interpolation; null of none. */
export function quantile(values: readonly number[], q: number): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((left, right) => left - right);
  const position = (sorted.length - 1) * q;
  const below = sorted[Math.floor(position)] ?? 0;
  const above = sorted[Math.ceil(position)] ?? below;
  return below + (above - below) * (position - Math.floor(position));
}

/** Durations in seconds of the runs that have ended. */
export function durations(occurrences: readonly StripOccurrence[]): readonly number[] {
  return occurrences.flatMap((one) => (one.__typename === "Run" ? (length(one) ?? []) : []));
}
