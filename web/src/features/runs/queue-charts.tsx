import { useState } from "preact/hooks";
import { graphql } from "../../api/tada";
import { compact, words } from "../../lib/format";
import { limitsOfAll, usesOf } from "../../lib/limits";
import { duration } from "../../lib/time";
import { serverNow } from "../../live/clock";
import { useLive } from "../../live/use-live";
import { type RunsFilter, seriesKnow } from "../../model/run-filter";
import { SelectFilter } from "../../parts/filters";
import { searchParams } from "../../state/route";
import { ErrorBox } from "../../ui/feedback";
import { type Layer, StackedBars, type StackedBarsProps } from "../../ui/stacked-bars";
import { readSpan, SPANS, type SpanName, type Stretch, stretches } from "./queue-series";

const SeriesDocument = graphql(`
  query QueueSeries(
    $jobName: String
    $group: String
    $from: DateTime
    $bucket: StatisticsBucket!
    $name: String!
    $ofGroup: Boolean!
    $ofJob: Boolean!
  ) {
    group(name: $name) @include(if: $ofGroup) { maxRunning rate { limit per burst } cap { limit } }
    jobs(first: 1, filter: { name: { eq: $name } }) @include(if: $ofJob) {
      nodes {
        limits {
          maxConcurrent
          rate { limit per burst }
          cap { limit }
          rateKey { template }
          concurrencyKey { template }
          capKey { template }
        }
      }
    }
    asOf
    serverTime
    queueHistory(jobName: $jobName, group: $group, from: $from, bucket: $bucket) {
      at waiting scheduled running stuck suspended oldestWait
    }
    statistics(jobName: $jobName, group: $group, from: $from, bucket: $bucket) { points { at count failures p50 p95 } }
  }
`);

const SIZE = { width: 640, height: 104 } as const;
/** A minute is counted within so many milliseconds of its beginning. */
const COUNTED_WITHIN = 30_000;
const WIDE = "(min-width: 900px)";

/** How the queue went over time, of the job, the group and the state that the list beside is filtered by. */
export function QueueCharts({ filter }: { filter: RunsFilter }) {
  const [open, setOpen] = useState(() => matchMedia(WIDE).matches);
  const span = readSpan(searchParams.value.get("span"));
  return (
    <details class="over-time" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Over time</summary>
      <SelectFilter
        name="span"
        value={searchParams.value.get("span") ?? ""}
        label="Over which time"
        all="last hour"
        options={[
          ["6h", "last 6 hours"],
          ["2d", "last 2 days"],
        ]}
      />
      {open &&
        (seriesKnow(filter) ? (
          <Charts filter={filter} span={span} />
        ) : (
          <p class="dim over-time-note">
            What was in the queue is kept by job, group and state. Clear the other filters to see it.
          </p>
        ))}
    </details>
  );
}

function Charts({ filter, span }: { filter: RunsFilter; span: SpanName }) {
  const { hours, bucket, step } = SPANS[span];
  const from = (): number => serverNow() - hours * 3_600_000;
  const { state, error, reload } = useLive(`series${JSON.stringify([filter.job, filter.group, span])}`, {
    document: SeriesDocument,
    variables: () => ({
      jobName: filter.job || null,
      group: filter.group || null,
      from: new Date(from()).toISOString(),
      bucket,
      // The limits are those of a group or of a job: of both together nothing can be said.
      name: filter.group || filter.job,
      ofGroup: filter.group !== "" && filter.job === "",
      ofJob: filter.job !== "" && filter.group === "",
    }),
    init: (data) => {
      const rows = stretches(data.queueHistory, data.statistics.points, from(), serverNow(), step);
      return { rows, uses: usesOf(data.group ?? limitsOfAll(data.jobs?.nodes[0]?.limits ?? null), rows, step / 1000) };
    },
    outdates: (event) => event.kind === "EXECUTION_FINISHED" || event.kind === "GROUP_UPDATED",
    every: 20_000,
    expires: ({ rows }) => Math.max(serverNow() + COUNTED_WITHIN, (rows.at(-1)?.start ?? 0) + 60_000 + COUNTED_WITHIN),
  });
  if (error !== null) return <ErrorBox error={error} retry={reload} />;
  // Until the server has answered the charts are empty, so that nothing below them moves.
  return (
    <>
      {state !== null && state.uses.length > 0 && (
        <p class="dim num over-time-note">Of its limits were used at most: {state.uses.join("; ")}.</p>
      )}
      <Drawn rows={state?.rows ?? stretches(null, [], from(), serverNow(), step)} tab={filter.tab} />
    </>
  );
}

/** The colours are those that the states have everywhere; of those that are grey there, two need one of their own. */
const STATES = [
  ["RUNNING", "Running", "active", (row: Stretch) => row.running],
  ["SCHEDULED", "Scheduled", "good", (row: Stretch) => row.scheduled],
  ["STUCK", "Retrying", "warn", (row: Stretch) => row.stuck],
  ["SUSPENDED", "Suspended", "asleep", (row: Stretch) => row.suspended],
  ["WAITING", "Waiting", "idle", (row: Stretch) => row.waiting],
] as const;

function Drawn({ rows, tab }: { rows: readonly Stretch[]; tab: RunsFilter["tab"] }) {
  const starts = rows.map((row) => row.start);
  const uncounted = new Set(rows.filter((row) => !row.isCounted).map((row) => row.start));
  const isKnown = (start: number): boolean => !uncounted.has(start);
  const depth: readonly Layer[] = STATES.filter(([state]) => tab === "" || tab === state).map(([, name, look, of]) => ({
    name,
    look,
    values: rows.map(of),
  }));
  return (
    <div class="over-time-charts">
      <Panel
        label="Depth over time"
        title={tab === "" ? "In the queue" : `In the queue, ${words(tab)}`}
        starts={starts}
        layers={depth}
        {...(depth.length > 1 && { total: "Runs" })}
        isKnown={isKnown}
        write={compact}
        whole
      />
      <Panel
        label="Throughput over time"
        title="Executions"
        starts={starts}
        total="Executions"
        layers={[
          { name: "Failed", look: "bad", values: rows.map((row) => row.failures) },
          { name: "Not failed", look: "good", values: rows.map((row) => row.count - row.failures) },
        ]}
        write={compact}
        whole
      />
      <Panel
        label="Longest wait over time"
        title="Longest wait of a due run"
        starts={starts}
        layers={[{ name: "Longest wait", look: "idle", values: rows.map((row) => row.oldestWait) }]}
        isKnown={isKnown}
        write={duration}
      />
      <Panel
        label="Durations over time"
        title="Durations, p50 and p95"
        starts={starts}
        total="95th percentile"
        layers={[
          { name: "Median", look: "active", values: rows.map((row) => row.p50) },
          { name: "From there to the 95th", look: "idle", values: rows.map((row) => Math.max(0, row.p95 - row.p50)) },
        ]}
        write={duration}
      />
    </div>
  );
}

/** One of the charts, all of one size. */
function Panel({ label, ...bars }: { label: string } & Omit<StackedBarsProps, "width" | "height">) {
  return (
    <section class="panel" aria-label={label}>
      <StackedBars {...bars} {...SIZE} />
    </section>
  );
}
