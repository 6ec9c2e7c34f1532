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

/** An occurrence of a task: a run, or a stretch that was skipped. */
export interface StripOccurrence {
  /** The state of the run; SKIPPED for a stretch. */
  readonly state: string;
  readonly at: string;
  /** From start to end; null until the run has ended, and for a stretch. */
  readonly seconds: number | null;
  /** Why a stretch was skipped; null for a run. */
  readonly reason: string | null;
  /** For how many occurrences it stands. */
  readonly count: number;
}

interface Columns {
  readonly states: readonly string[];
  readonly at: readonly string[];
  readonly seconds: readonly (number | null)[];
  readonly reasons: readonly (string | null)[];
  readonly counts: readonly number[];
}

/** The occurrences behind the columns of an answer. */
export function stripOccurrences({ states, at, seconds, reasons, counts }: Columns): readonly StripOccurrence[] {
  return states.map((state, row) => ({
    state,
    at: at[row] ?? "",
    seconds: seconds[row] ?? null,
    reason: reasons[row] ?? null,
    count: counts[row] ?? 1,
  }));
}

const SHORTEST = 0.01;
const LONGEST = 3600;

/** The height of a duration in seconds: logarithmic, so that milliseconds and minutes both show. */
export function logHeight(seconds: number): number {
  const value = Math.min(LONGEST, Math.max(SHORTEST, seconds));
  return Math.log(value / SHORTEST) / Math.log(LONGEST / SHORTEST);
}

/** The bars, oldest first. */
export function stripBars(
  occurrences: readonly StripOccurrence[],
  describe: (seconds: number) => string,
): readonly StripBar[] {
  return occurrences
    .map((occurrence) => bar(occurrence, describe))
    .sort((left, right) => Date.parse(left.at) - Date.parse(right.at));
}

function bar({ state, at, seconds, reason, count }: StripOccurrence, describe: (seconds: number) => string): StripBar {
  if (reason === null) {
    const text = `${state.toLowerCase()}${seconds === null ? "" : `, ${describe(seconds)}`}`;
    return { key: `r${at}`, status: state, at, height: seconds === null ? 0.15 : logHeight(seconds), text };
  }
  const text = `skipped: ${reason.toLowerCase()}${count > 1 ? ` (${count} times)` : ""}`;
  return { key: `s${at} ${reason}`, status: "SKIPPED", at, height: 0, text };
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
  return occurrences.flatMap(({ seconds }) => seconds ?? []);
}
