/** Spans of time as forms ask for them: a number, and a unit beside it. Pure. */
import { secondsOf } from "./time";

export const SPAN_UNITS = [
  ["s", "seconds"],
  ["m", "minutes"],
  ["h", "hours"],
  ["d", "days"],
] as const;

export type SpanUnit = (typeof SPAN_UNITS)[number][0];

/** A number as it is typed, which may be none, and its unit. */
export interface Span {
  readonly count: string;
  readonly unit: SpanUnit;
}

/** The seconds of a span; null where nothing is typed, NaN where it is no number. */
export function spanSeconds({ count, unit }: Span): number | null {
  const text = count.trim();
  return text === "" ? null : (secondsOf(/\d$/.test(text) ? text + unit : "") ?? Number.NaN);
}
