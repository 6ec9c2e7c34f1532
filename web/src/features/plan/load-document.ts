import { useRef } from "preact/hooks";
import { graphql } from "../../api/tada";
import { serverNow } from "../../live/clock";
import { useLive } from "../../live/use-live";
import { zone } from "../../state/prefs";
import { HOUR, hourOf, type LoadPoint } from "./model";

const LoadDocument = graphql(`
  query PlannedLoad($from: DateTime, $to: DateTime, $bucket: StatisticsBucket!, $filter: TaskFilter) {
    asOf
    serverTime
    plannedLoad(from: $from, to: $to, bucket: $bucket, filter: $filter) { endsAt points { at tasks names } }
  }
`);

interface Span {
  readonly from: number;
  readonly to: number;
}

export interface PlannedLoad extends Span {
  readonly points: readonly LoadPoint[];
  /** Until when all were counted. */
  readonly known: number;
}

/** The planned load of a span that moves with the clock; asked again each hour, and as tasks change. */
export function usePlannedLoad(
  bucket: "MINUTE" | "HOUR",
  filter: Record<string, unknown> | null,
  span: (now: number) => Span,
) {
  const asked = useRef<Span | null>(null);
  return useLive(`load${JSON.stringify([bucket, filter, zone.value])}`, {
    document: LoadDocument,
    variables: () => {
      const { from, to } = span(serverNow());
      asked.current = { from, to };
      return { from: new Date(from).toISOString(), to: new Date(to).toISOString(), bucket, filter };
    },
    init: ({ plannedLoad: { points, endsAt } }): PlannedLoad => ({
      ...(asked.current ?? span(serverNow())),
      points,
      known: Date.parse(endsAt),
    }),
    outdates: (event) => event.kind.startsWith("TASK_"),
    expires: () => hourOf(serverNow(), zone.value) + HOUR,
    every: 5_000,
  });
}
