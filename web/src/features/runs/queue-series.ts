/** The figures of the queue over time, brought onto one row of equal stretches of time. */

export interface Depth {
  readonly at: string;
  readonly waiting: number;
  readonly scheduled: number;
  readonly running: number;
  readonly stuck: number;
  readonly suspended: number;
  readonly oldestWait: number | null;
}

export interface Throughput {
  readonly at: string;
  readonly count: number;
  readonly failures: number;
  readonly p50: number | null;
  readonly p95: number | null;
}

/** One stretch of time; what did not happen is zero. */
export interface Stretch extends Omit<Depth, "at" | "oldestWait">, Omit<Throughput, "at" | "p50" | "p95"> {
  readonly start: number;
  /** Whether somebody counted the queue in it; of what just goes on that is still to come. */
  readonly isCounted: boolean;
  readonly oldestWait: number;
  readonly p50: number;
  readonly p95: number;
}

/** How far back one can look, in the words of the address, with the width of a bar. */
export const SPANS = {
  "1h": { hours: 1, bucket: "MINUTE", step: 60_000 },
  "6h": { hours: 6, bucket: "MINUTE", step: 60_000 },
  "2d": { hours: 48, bucket: "HOUR", step: 3_600_000 },
} as const;
export type SpanName = keyof typeof SPANS;

export function readSpan(text: string | null): SpanName {
  return text !== null && text in SPANS ? (text as SpanName) : "1h";
}

/** Both series from `from` to `to`, in milliseconds, a stretch for each `step`; null = they are still asked for. */
export function stretches(
  depths: readonly Depth[] | null,
  throughput: readonly Throughput[],
  from: number,
  to: number,
  step: number,
): readonly Stretch[] {
  const byStart = <P extends { readonly at: string }>(points: readonly P[]) =>
    new Map(points.map((point) => [Date.parse(point.at), point]));
  const [deep, through] = [byStart(depths ?? []), byStart(throughput)];
  const found: Stretch[] = [];
  for (let start = Math.ceil(from / step) * step; start <= to; start += step) {
    const [depth, done] = [deep.get(start), through.get(start)];
    found.push({
      start,
      isCounted: depth !== undefined || depths === null || start + 2 * step > to,
      waiting: depth?.waiting ?? 0,
      scheduled: depth?.scheduled ?? 0,
      running: depth?.running ?? 0,
      stuck: depth?.stuck ?? 0,
      suspended: depth?.suspended ?? 0,
      oldestWait: depth?.oldestWait ?? 0,
      count: done?.count ?? 0,
      failures: done?.failures ?? 0,
      p50: done?.p50 ?? 0,
      p95: done?.p95 ?? 0,
    });
  }
  return found;
}
