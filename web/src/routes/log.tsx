import { useEffect } from "preact/hooks";
import { ExecutionTable } from "../components/execution-table";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { ClearFilters, FilterBar, SelectFilter, TextFilter } from "../components/filters";
import { OutcomeCharts } from "../components/outcome-chart";
import { Pager } from "../components/pager";
import { PageHead } from "../components/section";
import { ExecutionRowFragment, type ExecutionRow, type LiveEvent } from "../graphql/fragments";
import { graphql } from "../graphql/tada";
import { type Bucket, fillBuckets } from "../lib/chart";
import { words } from "../lib/format";
import { isFiltered, type LogFilter, logFilterInput, matchesLogFilter, OUTCOMES, RANGES, readLogFilter, TRIGGERS } from "../lib/log-filter";
import { serverNow } from "../live/clock";
import { useLive } from "../live/use-live";
import { replace, upsertFirst, withProgress, without } from "../model/rows";
import { searchParams } from "../state/route";
import { setTitle } from "../state/title";

const PAGE = 50;
const FILTERS = ["job", "task", "outcome", "trigger", "node", "run", "q", "range"] as const;

const LogDocument = graphql(
  `
  query LogPage($first: Int!, $after: String, $filter: ExecutionFilter, $orderBy: [ExecutionOrder!]) {
    asOf
    serverTime
    executions(first: $first, after: $after, filter: $filter, orderBy: $orderBy) {
      nodes { ...ExecutionRow }
      pageInfo { hasNextPage endCursor }
    }
  }
`,
  [ExecutionRowFragment],
);

const StatisticsDocument = graphql(`
  query LogStatistics($jobName: String, $taskName: String, $from: DateTime, $bucket: StatisticsBucket) {
    statistics(jobName: $jobName, taskName: $taskName, from: $from, bucket: $bucket) {
      points { at count failures records }
    }
  }
`);

const ORDERS = {
  newest: { field: "ID", direction: "DESC" },
  oldest: { field: "ID", direction: "ASC" },
  longest: { field: "DURATION", direction: "DESC" },
  records: { field: "RECORDS_PROCESSED", direction: "DESC" },
} as const;
type Sort = keyof typeof ORDERS;

function readSort(params: URLSearchParams): Sort {
  const sort = params.get("sort") ?? "";
  return sort in ORDERS ? (sort as Sort) : "newest";
}

interface State {
  readonly executions: readonly ExecutionRow[];
  readonly end: string | null;
  readonly more: boolean;
}

/** New executions join the newest page if they match; rows that are there change in place. */
export function reduceLog(state: State, event: LiveEvent, filter: LogFilter, newest: boolean): State {
  if (event.executionId === null) {
    const executions = withProgress(state.executions, event.run);
    return executions === state.executions ? state : { ...state, executions };
  }
  const { execution } = event;
  if (execution === null) {
    const executions = without(state.executions, event.executionId);
    return executions === state.executions ? state : { ...state, executions };
  }
  if (!matchesLogFilter(filter, execution)) {
    // It no longer matches (say, "running" is filtered and it ended): it stays, changed, so that nothing jumps.
    const executions = replace(state.executions, execution);
    return executions === state.executions ? state : { ...state, executions };
  }
  const executions = newest ? upsertFirst(state.executions, execution, PAGE * 4) : replace(state.executions, execution);
  return executions === state.executions ? state : { ...state, executions };
}

/** Executions and records over time; until the server has answered the charts are empty, so that nothing below them moves. */
function useCharts(filter: LogFilter): readonly Bucket[] {
  const hours = filter.range === "" ? 24 : RANGES[filter.range];
  const bucket = hours <= 6 ? "MINUTE" : hours <= 168 ? "HOUR" : "DAY";
  const step = { MINUTE: 60_000, HOUR: 3_600_000, DAY: 86_400_000 }[bucket];
  const buckets = (points: Parameters<typeof fillBuckets>[0]): readonly Bucket[] => fillBuckets(points, serverNow() - hours * 3_600_000, serverNow(), step);
  const { state } = useLive(`statistics${JSON.stringify([filter.job, filter.task, hours])}`, {
    document: StatisticsDocument,
    variables: {
      jobName: filter.job === "" ? null : filter.job,
      taskName: filter.task === "" ? null : filter.task,
      from: new Date(serverNow() - hours * 3_600_000).toISOString(),
      bucket,
    } as const,
    init: (data) => buckets(data.statistics.points),
    outdates: (event) => event.kind === "EXECUTION_FINISHED",
    every: 10_000,
  });
  return state ?? buckets([]);
}

export function Log() {
  const params = searchParams.value;
  const filter = readLogFilter(params);
  const after = params.get("after");
  const sort = readSort(params);
  const { state, error, loading, reload } = useLive(`log${JSON.stringify([filter, after, sort])}`, {
    document: LogDocument,
    variables: { first: PAGE, after, filter: logFilterInput(filter, serverNow()), orderBy: [ORDERS[sort]] },
    init: ({ executions }): State => ({ executions: executions.nodes, end: executions.pageInfo.endCursor, more: executions.pageInfo.hasNextPage }),
    reduce: (before, event) => reduceLog(before, event, filter, after === null && sort === "newest"),
  });
  const charts = useCharts(filter);
  useEffect(() => setTitle("Log"), []);
  return (
    <>
      <PageHead title="Execution log" />
      <LogFilters filter={filter} sort={sort} />
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {after === null && <OutcomeCharts buckets={charts} />}
      {state === null && error === null && <Skeleton rows={12} />}
      {state !== null && (
        <section class={error === null && !loading ? "panel" : "panel loading"} aria-label="Executions">
          {isFiltered(filter) ? (
            <ExecutionTable
              executions={state.executions}
              empty={
                <Empty title="No execution matches">
                  <ClearFilters names={FILTERS} />
                </Empty>
              }
            />
          ) : (
            <ExecutionTable executions={state.executions} />
          )}
          <Pager after={after ?? ""} end={state.end} more={state.more} shown={state.executions.length} />
        </section>
      )}
    </>
  );
}

function LogFilters({ filter, sort }: { filter: LogFilter; sort: Sort }) {
  return (
    <FilterBar>
      <TextFilter name="job" value={filter.job} label="Job" main />
      <TextFilter name="q" value={filter.text} label="Text of the error" />
      <TextFilter name="node" value={filter.node} label="Node" />
      <SelectFilter
        name="outcome"
        value={filter.outcome}
        label="Outcome"
        all="Any outcome"
        options={[["failures", "failures"], ["running", "running"], ...OUTCOMES.map((outcome) => [outcome, words(outcome)] as const)]}
      />
      <SelectFilter name="trigger" value={filter.trigger} label="Trigger" all="Any trigger" options={TRIGGERS.map((trigger) => [trigger, words(trigger)] as const)} />
      <SelectFilter name="range" value={filter.range} label="Started within" all="Any time" options={Object.keys(RANGES).map((range) => [range, `last ${range.replace("h", " h").replace("d", " d")}`] as const)} />
      <SelectFilter name="sort" value={sort === "newest" ? "" : sort} label="Order" all="newest first" options={[["oldest", "oldest first"], ["longest", "longest first"], ["records", "most records"]]} />
      {filter.task !== "" && <span class="chip">task {filter.task}</span>}
      {filter.run !== "" && <span class="chip">run {filter.run}</span>}
      {isFiltered(filter) && <ClearFilters names={FILTERS} />}
    </FilterBar>
  );
}
