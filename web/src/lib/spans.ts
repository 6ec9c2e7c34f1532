/** Spans of time as people type them, a number and a unit: `90 s`, `1.5 h`. Pure. */

export const SPAN_UNITS = [
  ["s", 1, "seconds"],
  ["m", 60, "minutes"],
  ["h", 3_600, "hours"],
  ["d", 86_400, "days"],
] as const;

export type SpanUnit = (typeof SPAN_UNITS)[number][0];

/** A number as it is typed, which may be none, and its unit. */
export interface Span {
  readonly count: string;
  readonly unit: SpanUnit;
}

/** The seconds of a span; null where nothing is typed, NaN where it is no number. */
export function secondsOf({ count, unit }: Span): number | null {
  if (count.trim() === "") return null;
  const factor = SPAN_UNITS.find(([each]) => each === unit)?.[1] ?? 1;
  return /^\d+(\.\d+)?$/.test(count.trim()) ? Number(count) * factor : Number.NaN;
}
