/** Scales and ticks of the charts: own SVG, a few hundred points at most. */

/** A linear scale from a domain to a range; a domain of one point maps to the middle. */
export function linear(
  [from, to]: readonly [number, number],
  [low, high]: readonly [number, number],
): (value: number) => number {
  if (from === to) return () => (low + high) / 2;
  return (value) => low + ((value - from) / (to - from)) * (high - low);
}

/** A logarithmic scale; values below `from` are drawn at the bottom. */
export function logarithmic(
  [from, to]: readonly [number, number],
  range: readonly [number, number],
): (value: number) => number {
  const scale = linear([Math.log(from), Math.log(Math.max(to, from * 1.0001))], range);
  return (value) => scale(Math.log(Math.max(from, value)));
}

/** Powers of ten between two positive numbers; when there are fewer than two, also their doubles and fives. */
export function logTicks(from: number, to: number): readonly number[] {
  const powers = ticksOf(from, to, [1]);
  return powers.length >= 2 ? powers : ticksOf(from, to, [1, 2, 5]);
}

function ticksOf(from: number, to: number, factors: readonly number[]): readonly number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power += 1) {
    for (const factor of factors) {
      const tick = factor * 10 ** power;
      if (tick >= from * 0.999 && tick <= to * 1.001) ticks.push(tick);
    }
  }
  return ticks;
}

/** The smallest of 1, 2, 5, 10, 20 … that is not below a number. */
export function niceCeiling(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= value) ?? 10;
  return factor * power;
}

/** Counts of one stretch of time. */
export interface Bucket {
  readonly at: string;
  readonly count: number;
  readonly failures: number;
  readonly records: number;
}

/**
 * The buckets from `from` to `to` with the empty ones in between, which the server leaves out; `step` in milliseconds.
 */
export function fillBuckets(buckets: readonly Bucket[], from: number, to: number, step: number): readonly Bucket[] {
  const known = new Map(buckets.map((bucket) => [Date.parse(bucket.at), bucket]));
  const filled: Bucket[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    filled.push(known.get(at) ?? { at: new Date(at).toISOString(), count: 0, failures: 0, records: 0 });
  }
  return filled;
}

/** Failures and successes by weekday (0 = Monday) and hour. */
export interface HeatCell {
  readonly day: number;
  readonly hour: number;
  readonly count: number;
  readonly failed: number;
}

/** What began in one hour. */
export interface Hours {
  readonly at: string;
  readonly count: number;
  readonly failures: number;
}

/** Adds up hours by weekday and hour of the day; `local` shifts by the browser's zone. */
export function heatMap(hours: readonly Hours[], local: boolean): readonly HeatCell[] {
  const cells = new Map<number, { count: number; failed: number }>();
  for (const { at, count, failures } of hours) {
    const date = new Date(at);
    const day = ((local ? date.getDay() : date.getUTCDay()) + 6) % 7;
    const key = day * 24 + (local ? date.getHours() : date.getUTCHours());
    const cell = cells.get(key) ?? { count: 0, failed: 0 };
    cells.set(key, { count: cell.count + count, failed: cell.failed + failures });
  }
  return [...cells].map(([key, cell]) => ({ day: Math.floor(key / 24), hour: key % 24, ...cell }));
}

/** Round times between two instants for the axis, at most about eight. */
export function axisTicks(from: number, to: number): readonly number[] {
  const minutes = [5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880];
  const step = (minutes.find((candidate) => (to - from) / (candidate * 60_000) <= 9) ?? 10_080) * 60_000;
  const ticks: number[] = [];
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) ticks.push(tick);
  return ticks;
}
