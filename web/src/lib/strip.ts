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
  readonly id: string;
  readonly state: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
}

export interface StripOccurrence {
  readonly scheduledFor: string;
  readonly run: StripRun | null;
  readonly skipped: { readonly reason: string; readonly count: number } | null;
}

const SHORTEST = 0.01;
const LONGEST = 3600;

/** The height of a duration in seconds: logarithmic, so that milliseconds and minutes both show. */
export function logHeight(seconds: number): number {
  const value = Math.min(LONGEST, Math.max(SHORTEST, seconds));
  return Math.log(value / SHORTEST) / Math.log(LONGEST / SHORTEST);
}

/** The bars, oldest first. */
export function stripBars(occurrences: readonly StripOccurrence[], describe: (seconds: number) => string): readonly StripBar[] {
  return [...occurrences]
    .sort((left, right) => Date.parse(left.scheduledFor) - Date.parse(right.scheduledFor))
    .map((occurrence) => bar(occurrence, describe));
}

function bar({ scheduledFor, run, skipped }: StripOccurrence, describe: (seconds: number) => string): StripBar {
  if (run !== null) {
    const seconds = run.startedAt !== null && run.finishedAt !== null ? (Date.parse(run.finishedAt) - Date.parse(run.startedAt)) / 1000 : null;
    const text = `${run.state.toLowerCase()}${seconds === null ? "" : `, ${describe(seconds)}`}`;
    return { key: `r${run.id}`, status: run.state, at: scheduledFor, height: seconds === null ? 0.15 : logHeight(seconds), text };
  }
  const reason = skipped?.reason ?? "SKIPPED";
  const count = skipped?.count ?? 1;
  const text = `skipped: ${reason.toLowerCase()}${count > 1 ? ` (${count} times)` : ""}`;
  return { key: `s${scheduledFor}`, status: "SKIPPED", at: scheduledFor, height: 0, text };
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
  return occurrences.flatMap(({ run }) =>
    run !== null && run.startedAt !== null && run.finishedAt !== null ? [(Date.parse(run.finishedAt) - Date.parse(run.startedAt)) / 1000] : [],
  );
}
