import { useState } from "preact/hooks";
import { graphql } from "../../api/tada";
import { serverNow } from "../../live/clock";
import { useLive } from "../../live/use-live";
import { type Bucket, fillBuckets } from "../../model/chart";
import { countedByServer, type LogFilter, logFilterInput, RANGES } from "../../model/log-filter";
import { ErrorBox } from "../../ui/feedback";
import { Refused } from "../../ui/refused";
import { useMedia } from "../../ui/use-media";
import { OutcomeCharts } from "./outcome-chart";

const StatisticsDocument = graphql(`
  query LogStatistics($taskName: String, $from: DateTime, $bucket: StatisticsBucket) {
    asOf
    statistics(taskName: $taskName, from: $from, bucket: $bucket) {
      points { at count failures records }
    }
  }
`);

const CountsDocument = graphql(`
  query LogCounts($filter: ExecutionFilter, $from: DateTime, $bucket: StatisticsBucket!) {
    asOf
    executionCounts(filter: $filter, from: $from, bucket: $bucket) {
      beginsAt
      points { at count failures records }
    }
  }
`);

interface Span {
  readonly filter: LogFilter;
  readonly hours: number;
  readonly bucket: "MINUTE" | "HOUR" | "DAY";
  /** Milliseconds of a bucket. */
  readonly step: number;
}

function spanOf(filter: LogFilter): Span {
  const hours = filter.range === "" ? 24 : RANGES[filter.range];
  const bucket = hours <= 6 ? "MINUTE" : hours <= 168 ? "HOUR" : "DAY";
  return { filter, hours, bucket, step: { MINUTE: 60_000, HOUR: 3_600_000, DAY: 86_400_000 }[bucket] };
}

function from({ hours }: Span): number {
  return serverNow() - hours * 3_600_000;
}

function filled(span: Span, buckets: readonly Bucket[]): readonly Bucket[] {
  return fillBuckets(buckets, from(span), serverNow(), span.step);
}

function spanWords({ hours }: Span): string {
  return hours > 24 ? `last ${hours / 24} days` : `last ${hours} h`;
}

/** There is room for charts above the first row: not on a phone, nor in a window that is enlarged to 200 %. */
const ROOMY = "(min-width: 600px) and (min-height: 600px)";

/**
 * Executions and records over time, of exactly the executions that the list beside shows; where they would push the
 * list out of sight they are folded.
 */
export function LogCharts({ filter }: { filter: LogFilter }) {
  const roomy = useMedia(ROOMY);
  const [open, setOpen] = useState(false);
  if (roomy) return <Charts filter={filter} />;
  return (
    <details class="over-time" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Over time</summary>
      {open && <Charts filter={filter} />}
    </details>
  );
}

function Charts({ filter }: { filter: LogFilter }) {
  const span = spanOf(filter);
  return countedByServer(filter) ? <Counted span={span} /> : <Filtered span={span} />;
}

/** The server counts by task and time. */
function Counted({ span }: { span: Span }) {
  const { filter, hours, bucket } = span;
  const { state, error, reload } = useLive(`statistics${JSON.stringify([filter.task, hours])}`, {
    document: StatisticsDocument,
    variables: () => ({
      taskName: filter.task === "" ? null : filter.task,
      from: new Date(from(span)).toISOString(),
      bucket,
    }),
    init: (data) => filled(span, data.statistics.points),
    outdates: (event) => event.kind === "EXECUTION_FINISHED",
    every: 10_000,
  });
  // Until the server has answered the charts are empty, so that nothing below them moves.
  if (error !== null) return <ErrorBox error={error} retry={reload} />;
  return <OutcomeCharts buckets={state ?? filled(span, [])} of={spanWords(span)} />;
}

/** By all other filters the executions themselves are counted, the newest of very many. */
function Filtered({ span }: { span: Span }) {
  const { filter, hours, bucket } = span;
  const { state, error, reload } = useLive(`log counts${JSON.stringify([filter, hours])}`, {
    document: CountsDocument,
    variables: () => ({
      filter: logFilterInput(filter, serverNow()),
      from: new Date(from(span)).toISOString(),
      bucket,
    }),
    init: ({ executionCounts: { beginsAt, points } }) => ({
      buckets: filled(span, points),
      since: Date.parse(beginsAt),
    }),
    outdates: (event) => event.kind === "EXECUTION_FINISHED",
    every: 10_000,
  });
  if (error !== null) return <Refused error={error} retry={reload} narrowing={{ rows: "executions" }} />;
  return (
    <OutcomeCharts
      buckets={state?.buckets ?? filled(span, [])}
      of={spanWords(span)}
      {...(state !== null && { since: state.since })}
    />
  );
}
