/** Which stretch of time the timeline shows: the last hours and a little ahead, or what was brushed. Pure. */

/** Hours back from now, by the word in the address. */
export const RANGES = { "1h": 1, "6h": 6, "24h": 24, "7d": 168, "30d": 720 } as const;
export type Range = keyof typeof RANGES;

const HOUR = 3_600_000;
/** A brush selects no less than this, in milliseconds. */
const SHORTEST = 60_000;
/** And no more. */
const LONGEST = 720 * HOUR;

/** What the address asks for. */
export type Chosen =
  | { readonly kind: "last"; readonly range: Range }
  | { readonly kind: "fixed"; readonly from: number; readonly to: number };

/** Reads `range=6h`, or `from=…&to=…`; what makes no sense is the last hour. */
export function readChosen(params: Pick<URLSearchParams, "get">): Chosen {
  const [from, to] = [Date.parse(params.get("from") ?? ""), Date.parse(params.get("to") ?? "")];
  if (to > from && to - from <= LONGEST + 2 * HOUR) return { kind: "fixed", from, to };
  const range = (Object.keys(RANGES) as Range[]).find((each) => each === params.get("range"));
  return { kind: "last", range: range ?? "1h" };
}

/**
 * How far ahead the plan is drawn next to so many hours of the past, in milliseconds: a sixth, and at least an hour.
 */
export function aheadOfHours(hours: number): number {
  return Math.max(HOUR, (hours * HOUR) / 6);
}

/** The window at a moment. */
export function windowAt(chosen: Chosen, now: number): { readonly from: number; readonly to: number } {
  if (chosen.kind === "fixed") return chosen;
  const hours = RANGES[chosen.range];
  return { from: now - hours * HOUR, to: now + aheadOfHours(hours) };
}

/** The parameters of the address for a window that was brushed, or moved to. */
export function paramsOf(
  from: number,
  to: number,
): { readonly from: string; readonly to: string; readonly range: null } {
  const middle = (from + to) / 2;
  const length = Math.min(LONGEST, Math.max(SHORTEST, to - from));
  const written = (at: number): string => new Date(Math.round(at / 1000) * 1000).toISOString().replace(".000Z", "Z");
  return { from: written(middle - length / 2), to: written(middle + length / 2), range: null };
}

/** What is brushed by keys, as shares of the window's width: `to` is the end that moves. */
export interface Brushed {
  readonly from: number;
  readonly to: number;
}

/** So much of the window is one press of an arrow. */
const PRESS = 1 / 48;

/** What a key makes of the brush: arrows, Home and End move it, with Shift they draw a span. Null for another key. */
export function brushedBy(key: string, shift: boolean, before: Brushed | null): Brushed | null {
  const { from, to } = before ?? { from: 0.5, to: 0.5 };
  const moved = { ArrowLeft: to - PRESS, ArrowRight: to + PRESS, Home: 0, End: 1 }[key];
  if (moved === undefined) return null;
  const end = Math.min(1, Math.max(0, moved));
  return { from: shift ? from : end, to: end };
}
