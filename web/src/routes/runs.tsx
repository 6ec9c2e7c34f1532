import { useEffect, useState } from "preact/hooks";
import { BulkDialog } from "../components/bulk-dialog";
import { Command, Empty, ErrorBox, Skeleton } from "../components/feedback";
import { ClearFilters, FilterBar, SelectFilter, TextFilter } from "../components/filters";
import { Pager } from "../components/pager";
import { type ExplainedRun, RunTable } from "../components/run-table";
import { PageHead } from "../components/section";
import { useSelection } from "../components/use-selection";
import { type LiveEvent, RunRowFragment } from "../graphql/fragments";
import { graphql } from "../graphql/tada";
import { capped, cappedPlural, plural, words } from "../lib/format";
import { readRunsFilter, RUN_TABS, runActions, type RunsFilter, runsFilterInput, type RunTab } from "../lib/run-filter";
import { useLive } from "../live/use-live";
import type { BulkKind, BulkTarget } from "../services/runs";
import { searchParams, setParams } from "../state/route";
import { setTitle } from "../state/title";

const PAGE = 50;
const FILTERS = ["q", "group", "priority"] as const;

const RunsDocument = graphql(
  `
  query RunsPage($first: Int!, $after: String, $filter: RunFilter, $orderBy: [RunOrder!]) {
    asOf
    serverTime
    runs(first: $first, after: $after, filter: $filter, orderBy: $orderBy) {
      nodes {
        ...RunRow
        explain { sentence until }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
`,
  [RunRowFragment],
);

const CountsDocument = graphql(`
  query RunCounts(
    $open: RunFilter
    $running: RunFilter
    $waiting: RunFilter
    $scheduled: RunFilter
    $stuck: RunFilter
    $success: RunFilter
    $failed: RunFilter
    $cancelled: RunFilter
    $skipped: RunFilter
  ) {
    open: runs(first: 1, filter: $open) { totalCount }
    RUNNING: runs(first: 1, filter: $running) { totalCount }
    WAITING: runs(first: 1, filter: $waiting) { totalCount }
    SCHEDULED: runs(first: 1, filter: $scheduled) { totalCount }
    STUCK: runs(first: 1, filter: $stuck) { totalCount }
    SUCCESS: runs(first: 1, filter: $success) { totalCount }
    FAILED: runs(first: 1, filter: $failed) { totalCount }
    CANCELLED: runs(first: 1, filter: $cancelled) { totalCount }
    SKIPPED: runs(first: 1, filter: $skipped) { totalCount }
  }
`);

interface State {
  readonly runs: readonly ExplainedRun[];
  readonly end: string | null;
  readonly more: boolean;
}

type Counts = ReadonlyMap<RunTab, number>;

/** Rows change in place at once; which rows there are, and why they wait, the server says. */
function reduceRuns(state: State, { run }: LiveEvent): State {
  if (run === null) return state;
  const index = state.runs.findIndex((row) => row.id === run.id);
  const known = state.runs[index];
  if (known === undefined) return state;
  return { ...state, runs: state.runs.with(index, { ...known, ...run }) };
}

function concernsQueue(event: LiveEvent): boolean {
  return event.kind.startsWith("RUN_") || event.kind.startsWith("EXECUTION_") || event.kind === "GROUP_UPDATED" || event.kind.startsWith("NODE_S");
}

function useRuns(filter: RunsFilter, after: string | null) {
  const key = JSON.stringify([filter, after]);
  const finished = filter.tab !== "" && !["RUNNING", "WAITING", "SCHEDULED", "STUCK"].includes(filter.tab);
  const list = useLive(`runs${key}`, {
    document: RunsDocument,
    variables: {
      first: PAGE,
      after,
      filter: runsFilterInput(filter),
      orderBy: [{ field: finished ? "ID" : "AVAILABLE_AT", direction: finished ? "DESC" : "ASC" }] as const,
    },
    init: ({ runs }): State => ({ runs: runs.nodes, end: runs.pageInfo.endCursor, more: runs.pageInfo.hasNextPage }),
    reduce: reduceRuns,
    outdates: concernsQueue,
  });
  const of = (tab: RunTab) => runsFilterInput({ ...filter, tab });
  const counts = useLive(`counts${JSON.stringify({ ...filter, tab: "" })}`, {
    document: CountsDocument,
    variables: {
      open: of(""),
      running: of("RUNNING"),
      waiting: of("WAITING"),
      scheduled: of("SCHEDULED"),
      stuck: of("STUCK"),
      success: of("SUCCESS"),
      failed: of("FAILED"),
      cancelled: of("CANCELLED"),
      skipped: of("SKIPPED"),
    },
    init: (data): Counts => new Map(RUN_TABS.map((tab) => [tab, data[tab === "" ? "open" : tab].totalCount])),
    outdates: (event) => event.kind.startsWith("RUN_"),
    every: 1_000,
  });
  return { list, counts: counts.state, recount: counts.reload };
}

export function Runs() {
  const params = searchParams.value;
  const filter = readRunsFilter(params);
  const after = params.get("after");
  const { list, counts, recount } = useRuns(filter, after);
  const { state, error, reload } = list;
  const selection = useSelection();
  const [bulk, setBulk] = useState<{ kind: BulkKind; target: BulkTarget } | null>(null);
  useEffect(() => setTitle("Runs"), []);
  const filtered = FILTERS.some((name) => params.has(name));
  return (
    <>
      <PageHead title="Runs" />
      <RunTabs tab={filter.tab} counts={counts} />
      <FilterBar>
        <TextFilter name="q" value={filter.q} label="Task or job" main />
        <TextFilter name="group" value={filter.group} label="Group" />
        <SelectFilter name="priority" value={filter.priority} label="Priority" all="Any priority" options={[["HIGH", "high"], ["LOW", "low"]]} />
        {filtered && <ClearFilters names={FILTERS} />}
        <BulkAll filter={filter} count={counts?.get(filter.tab) ?? 0} ask={(kind) => setBulk({ kind, target: { filter: runsFilterInput(filter) } })} />
      </FilterBar>
      {selection.selected.size > 0 && (
        <BulkBar count={selection.selected.size} clear={selection.clear} ask={(kind) => setBulk({ kind, target: { ids: [...selection.selected] } })} />
      )}
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {state === null && error === null && <Skeleton rows={10} />}
      {state !== null && (
        <section class={error === null ? "panel" : "panel dimmed"} aria-label="Runs">
          {state.runs.length === 0 ? (
            <NoRuns filtered={filtered || filter.tab !== ""} />
          ) : (
            <RunTable
              runs={state.runs}
              selection={{ ...selection, toggleAll: () => selection.toggleAll(state.runs.map((run) => run.id)) }}
            />
          )}
          <Pager after={after ?? ""} end={state.end} more={state.more} shown={state.runs.length} />
        </section>
      )}
      {bulk !== null && (
        <BulkDialog
          {...bulk}
          onClose={() => {
            setBulk(null);
            selection.clear();
            recount();
          }}
        />
      )}
    </>
  );
}

function RunTabs({ tab, counts }: { tab: RunTab; counts: Counts | null }) {
  return (
    <nav class="tabs" aria-label="State of the runs">
      {RUN_TABS.map((each) => (
        <button key={each} type="button" class="tab" aria-current={each === tab ? "true" : undefined} onClick={() => setParams({ state: each, after: null })}>
          {each === "" ? "unfinished" : words(each)}
          <span class="tab-count num">{counts === null ? "" : capped(counts.get(each) ?? 0)}</span>
        </button>
      ))}
    </nav>
  );
}

/** Actions on all runs that match the filter. */
function BulkAll({ filter, count, ask }: { filter: RunsFilter; count: number; ask: (kind: BulkKind) => void }) {
  if (count === 0) return null;
  const can = runActions(filter.tab === "" ? "WAITING" : filter.tab);
  return (
    <span class="filter-end" role="group" aria-label="All that match">
      {can.cancel && (
        <button type="button" class="button small" onClick={() => ask("cancel")}>
          Cancel {cappedPlural(count, "run")}
        </button>
      )}
      {can.priority && (
        <>
          <button type="button" class="button small" onClick={() => ask("high")}>
            High priority
          </button>
          <button type="button" class="button small" onClick={() => ask("low")}>
            Low priority
          </button>
        </>
      )}
      {can.retry && (
        <button type="button" class="button small" onClick={() => ask("retry")}>
          Run {cappedPlural(count, "run")} again
        </button>
      )}
    </span>
  );
}

function BulkBar({ count, clear, ask }: { count: number; clear: () => void; ask: (kind: BulkKind) => void }) {
  return (
    <div class="bulk-bar" role="toolbar" aria-label="Selected runs">
      <strong class="num">{plural(count, "run")} selected</strong>
      <button type="button" class="button small" onClick={() => ask("cancel")}>
        Cancel
      </button>
      <button type="button" class="button small" onClick={() => ask("retry")}>
        Run again
      </button>
      <button type="button" class="button small" onClick={() => ask("high")}>
        High priority
      </button>
      <button type="button" class="button small" onClick={() => ask("low")}>
        Low priority
      </button>
      <button type="button" class="link-button" onClick={clear}>
        Clear
      </button>
    </div>
  );
}

function NoRuns({ filtered }: { filtered: boolean }) {
  return filtered ? (
    <Empty title="No run matches">
      <ClearFilters names={[...FILTERS, "state"]} />
    </Empty>
  ) : (
    <Empty title="The queue is empty">
      <p class="dim">Tasks put runs here when they are due; so does this:</p>
      <Command text="cronograph trigger cleanup_expired_sessions" />
    </Empty>
  );
}
