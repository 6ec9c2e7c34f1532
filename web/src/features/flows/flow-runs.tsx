import { useMemo } from "preact/hooks";
import { RunRowFragment } from "../../api/fragments";
import { graphql, type ResultOf } from "../../api/tada";
import { integer } from "../../lib/format";
import { serverNow } from "../../live/clock";
import { tryRows, useLiveList } from "../../live/use-live-list";
import { byNumber } from "../../model/live-list";
import { repeatedReasons } from "../../model/reasons";
import { matchesRunsFilter, readRunsFilter, runsFilterInput } from "../../model/run-filter";
import { ClearFilters } from "../../parts/filters";
import { RUN_COLUMNS, type RunContext, runId, runName } from "../../parts/run-table";
import { type StateTab, StateTabs } from "../../parts/state-tabs";
import { cancelRun } from "../../services/runs";
import { searchParams } from "../../state/route";
import type { Column } from "../../ui/data-table";
import { Empty } from "../../ui/feedback";
import { Icon } from "../../ui/icon";
import { ListPanel } from "../../ui/list-panel";
import { SearchBar } from "../search/bar";
import { filtersOf, type Vocabulary } from "../search/model";
import { RUN_TERMS } from "../search/run-terms";
import { STATES, type StateCounts } from "./state-bar";

const PAGE = 50;
const SEARCH: Vocabulary = {
  label: "Job",
  param: "q",
  terms: Object.values(RUN_TERMS),
};
const FILTERS = filtersOf(SEARCH);

const RunsDocument = graphql(
  `
  query FlowRuns($first: Int!, $after: String, $filter: RunFilter) {
    asOf
    serverTime
    runs(first: $first, after: $after, filter: $filter, orderBy: [{ field: ID }]) {
      nodes { ...RunRow explain { sentence details changesAt } flowPlace { key } }
      pageInfo { hasNextPage endCursor }
    }
  }
`,
  [RunRowFragment],
);

type Row = ResultOf<typeof RunsDocument>["runs"]["nodes"][number];

const COLUMNS: readonly Column<Row, RunContext>[] = RUN_COLUMNS.flatMap((column): readonly Column<Row, RunContext>[] =>
  column.key === "name"
    ? [
        {
          key: "key",
          title: "Place",
          width: 150,
          grow: 1,
          rank: 1,
          card: "pair",
          cell: ({ flowPlace }) => flowPlace?.key ?? "–",
        },
        column,
      ]
    : [column],
);

/** Whether the address asks for some of the runs of a flow. */
export function asksForRuns(): boolean {
  return searchParams.value.has("list") || ["state", ...FILTERS].some((name) => searchParams.value.has(name));
}

/** The runs of a flow that match, page by page: of one job, in one state, with one argument. */
export function FlowRuns({ id, counts }: { id: string; counts: (job: string) => StateCounts }) {
  const params = searchParams.value;
  const read = readRunsFilter(params);
  const filter = { ...read, flow: id, tab: read.tab === "" ? ("ALL" as const) : read.tab };
  const after = params.get("after");
  const name = `flow-runs${JSON.stringify(filter)}`;
  const list = useLiveList(`${name} ${after ?? ""}`, {
    document: RunsDocument,
    // A run in whose place a retry has put another is of the past of the flow.
    variables: () => ({
      first: PAGE,
      after,
      filter: { ...runsFilterInput(filter, serverNow()), isRetried: { eq: false } },
    }),
    page: ({ runs }) => runs,
    parts: ["runs"],
    change: ({ flowId, runId: run, run: row }) =>
      flowId !== id || run === undefined || row === undefined
        ? null
        : { id: run, row: row === null ? null : { explain: null, flowPlace: null, ...row } },
    id: runId,
    matches: (run) => matchesRunsFilter(filter, run),
    order: (left, right) => byNumber(left.id, right.id),
    first: after === null,
    size: PAGE,
    // A run that another takes the place of leaves, and nothing is said of it itself.
    outdates: (event) => event.flowId === id,
    every: 1_500,
  });
  const rows = list.state?.rows ?? null;
  const repeated = repeatedReasons(rows ?? []);
  const context = useMemo(
    (): RunContext => ({
      repeated,
      cancel: (run) =>
        void tryRows(
          list,
          (row) => row.id === run.id,
          { cancelRequestedAt: new Date(serverNow()).toISOString() },
          () => cancelRun(run.id),
        ),
    }),
    [name, after, [...repeated].join()],
  );
  return (
    <>
      <div class="panel-head flow-runs-head">
        <h2>{filter.job === "" ? "All runs" : `Runs of ${filter.job}`}</h2>
        <a class="button small" href={inRuns(params, id)}>
          <Icon name="runs" /> Change many in Runs
        </a>
      </div>
      <StateTabs label="State of the runs" tabs={tabsOf(filter.tab, counts(filter.job))} chosen={filter.tab} />
      <SearchBar vocabulary={SEARCH} />
      <ListPanel
        label="Runs of the flow"
        id="flow-runs"
        after={after ?? ""}
        page={`${name} ${after ?? ""}`}
        list={list}
        columns={COLUMNS}
        context={context}
        rowId={runId}
        rowName={runName}
        empty={
          <Empty title="No run of this flow matches">
            <ClearFilters names={[...FILTERS, "state"]} />
          </Empty>
        }
      />
    </>
  );
}

/** The same runs in the list of all runs, where they are changed together. */
function inRuns(params: URLSearchParams, flow: string): string {
  const there = new URLSearchParams([...params].filter(([name]) => name !== "after" && name !== "list"));
  there.set("flow", flow);
  if (!there.has("state")) there.set("state", "ALL");
  return `/runs?${there.toString()}`;
}

/** The states that there are, with the number of runs in each. */
function tabsOf(chosen: string, counts: StateCounts): readonly StateTab<string>[] {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const shown = STATES.filter((state) => (counts.get(state) ?? 0) > 0 || state === chosen);
  return [
    { state: "ALL", word: "all", count: integer(total) },
    ...shown.map((state) => ({ state, count: integer(counts.get(state) ?? 0) })),
  ];
}
