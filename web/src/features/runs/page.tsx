import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type LiveEvent, RunRowFragment } from "../../api/fragments";
import { graphql } from "../../api/tada";
import { capped, cappedPlural, words } from "../../lib/format";
import { serverNow } from "../../live/clock";
import { setTitle } from "../../live/title";
import { useLive } from "../../live/use-live";
import { tryRows, useLiveList } from "../../live/use-live-list";
import type { ListPage } from "../../model/live-list";
import { RANGES, rangeWords, TRIGGERS } from "../../model/log-filter";
import { type ExplainedRun, repeatedReasons } from "../../model/reasons";
import {
  compareRuns,
  isFinishedTab,
  matchesRunsFilter,
  RUN_TABS,
  type RunsFilter,
  type RunTab,
  readRunsFilter,
  runsFilterInput,
  tabActions,
} from "../../model/run-filter";
import { BulkDialog } from "../../parts/dialogs";
import { ClearFilters } from "../../parts/filters";
import { ListTools } from "../../parts/list-tools";
import { RUN_COLUMNS, type RunContext, runId, runName } from "../../parts/run-table";
import { StateTabs } from "../../parts/state-tabs";
import { type BulkKind, type BulkTarget, cancelRun } from "../../services/runs";
import { searchParams, setParams } from "../../state/route";
import { Action } from "../../ui/action";
import { Command, Empty } from "../../ui/feedback";
import { lazy } from "../../ui/lazy";
import { ListPanel } from "../../ui/list-panel";
import { PageHead } from "../../ui/section";
import { SelectedCount } from "../../ui/selected-count";
import { useSelection } from "../../ui/use-selection";
import { SearchBar } from "../search/bar";
import { filtersOf, type Vocabulary } from "../search/model";
import { RUN_TERMS } from "../search/run-terms";
import { QueueCharts } from "./queue-charts";

const RunPeek = lazy(() => import("../run/peek").then((module) => module.RunPeek), "part");
const PAGE = 50;
const SEARCH: Vocabulary = {
  label: "Task or job",
  param: "q",
  terms: [
    RUN_TERMS.job,
    { prefix: "task:", param: "task", label: "Task", names: "task", exact: true },
    { prefix: "group:", param: "group", label: "Group", names: "group", exact: true },
    RUN_TERMS.error,
    RUN_TERMS.arg,
    RUN_TERMS.label,
    {
      prefix: "priority:",
      param: "priority",
      label: "Priority",
      options: [
        ["HIGH", "high"],
        ["LOW", "low"],
      ],
    },
    {
      prefix: "range:",
      param: "range",
      label: "Submitted within",
      options: Object.keys(RANGES).map((range) => [range, `last ${rangeWords(range)}`]),
    },
    {
      prefix: "trigger:",
      param: "trigger",
      label: "Trigger",
      options: TRIGGERS.map((trigger) => [trigger, words(trigger)]),
    },
    RUN_TERMS.node,
    { prefix: "flow:", param: "flow", label: "Flow", form: "number" },
    RUN_TERMS.state,
  ],
};
const FILTERS = filtersOf(SEARCH);
const TAB_WORDS = { "": "unfinished", ALL: "all" };

const RunsDocument = graphql(
  `
  query RunsPage($first: Int!, $after: String, $filter: RunFilter, $orderBy: [RunOrder!]) {
    asOf
    serverTime
    runs(first: $first, after: $after, filter: $filter, orderBy: $orderBy) {
      nodes {
        ...RunRow
        explain { sentence details changesAt }
      }
      pageInfo { hasNextPage endCursor }
      totalCount
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
    $suspended: RunFilter
    $success: RunFilter
    $failed: RunFilter
    $cancelled: RunFilter
    $skipped: RunFilter
    $all: RunFilter
  ) {
    asOf
    open: runs(first: 0, filter: $open) { totalCount }
    RUNNING: runs(first: 0, filter: $running) { totalCount }
    WAITING: runs(first: 0, filter: $waiting) { totalCount }
    SCHEDULED: runs(first: 0, filter: $scheduled) { totalCount }
    STUCK: runs(first: 0, filter: $stuck) { totalCount }
    SUSPENDED: runs(first: 0, filter: $suspended) { totalCount }
    SUCCESS: runs(first: 0, filter: $success) { totalCount }
    FAILED: runs(first: 0, filter: $failed) { totalCount }
    CANCELLED: runs(first: 0, filter: $cancelled) { totalCount }
    SKIPPED: runs(first: 0, filter: $skipped) { totalCount }
    ALL: runs(first: 0, filter: $all) { totalCount }
  }
`);

type Counts = ReadonlyMap<RunTab, number>;

/** Why runs wait changes with what others do. */
function concernsQueue(event: LiveEvent): boolean {
  return (
    event.kind.startsWith("RUN_") ||
    event.kind.startsWith("EXECUTION_") ||
    event.kind === "GROUP_UPDATED" ||
    event.kind.startsWith("NODE_S")
  );
}

function useRuns(filter: RunsFilter, after: string | null) {
  const finished = isFinishedTab(filter.tab);
  const list = useLiveList(`runs${JSON.stringify([filter, after])}`, {
    document: RunsDocument,
    variables: () => ({
      first: PAGE,
      after,
      filter: runsFilterInput(filter, serverNow()),
      orderBy: [
        {
          field: finished ? ("ID" as const) : ("AVAILABLE_AT" as const),
          direction: finished ? ("DESC" as const) : ("ASC" as const),
        },
      ],
    }),
    page: ({ runs }): ListPage<ExplainedRun> => runs,
    parts: ["runs"],
    change: ({ runId, run }) => (runId === undefined || run === undefined ? null : { id: runId, row: run }),
    id: runId,
    matches: (run) => matchesRunsFilter(filter, run),
    order: compareRuns(filter.tab),
    first: after === null,
    size: PAGE,
    outdates: (event) => !finished && concernsQueue(event),
  });
  const of = (tab: RunTab) => runsFilterInput({ ...filter, tab }, serverNow());
  const counts = useLive(`counts${JSON.stringify({ ...filter, tab: "" })}`, {
    document: CountsDocument,
    variables: () => ({
      open: of(""),
      running: of("RUNNING"),
      waiting: of("WAITING"),
      scheduled: of("SCHEDULED"),
      stuck: of("STUCK"),
      suspended: of("SUSPENDED"),
      success: of("SUCCESS"),
      failed: of("FAILED"),
      cancelled: of("CANCELLED"),
      skipped: of("SKIPPED"),
      all: of("ALL"),
    }),
    init: (data): Counts => new Map(RUN_TABS.map((tab) => [tab, data[tab === "" ? "open" : tab].totalCount])),
    outdates: (event) => event.kind.startsWith("RUN_"),
  });
  return { list, counts: withOpenTab(counts.state, filter.tab, list.state?.total ?? null), recount: counts.reload };
}

/** The open tab counts what its list shows: both are of one answer, and the same events change them. */
function withOpenTab(counts: Counts | null, tab: RunTab, total: number | null): Counts | null {
  return total === null ? counts : new Map([...(counts ?? []), [tab, total]]);
}

/** What becomes of a run that is cancelled: one that is on is only asked to stop, any other is over at once. */
function cancelled({ state }: ExplainedRun): Partial<ExplainedRun> {
  return state === "RUNNING" ? { cancelRequestedAt: new Date(serverNow()).toISOString() } : { state: "CANCELLED" };
}

/** An address that names no state opens with all runs where nothing is unfinished; once it is open it stays there. */
function useFirstTab(named: boolean, counts: Counts | null): void {
  const decided = useRef(named);
  const unfinished = counts?.get("") ?? null;
  const all = counts?.get("ALL") ?? null;
  useEffect(() => {
    if (decided.current || unfinished === null || all === null) return;
    decided.current = true;
    if (!named && unfinished === 0 && all > 0) setParams({ state: "ALL" }, { replace: true });
  }, [named, unfinished, all]);
}

export function Runs() {
  const params = searchParams.value;
  const filter = readRunsFilter(params);
  const after = params.get("after");
  const { list, counts, recount } = useRuns(filter, after);
  useFirstTab(params.has("state"), counts);
  const rows = list.state?.rows ?? null;
  const name = `runs ${JSON.stringify(filter)}`;
  const selection = useSelection(name, after ?? "", rows?.map(runId) ?? null);
  const repeated = repeatedReasons(rows ?? []);
  const context = useMemo(
    (): RunContext => ({
      repeated,
      cancel: ({ id }) =>
        void tryRows(
          list,
          (run) => run.id === id,
          cancelled,
          () => cancelRun(id),
        ),
    }),
    [name, after, [...repeated].join()],
  );
  const [bulk, setBulk] = useState<{ kind: BulkKind; target: BulkTarget } | null>(null);
  useEffect(() => setTitle("Runs"), []);
  const filtered = FILTERS.some((name) => params.has(name));
  const matching = counts?.get(filter.tab) ?? 0;
  return (
    <>
      <PageHead title="Runs" />
      <StateTabs
        label="State of the runs"
        tabs={RUN_TABS.map((state) => ({
          state,
          ...(state === "" && { param: "UNFINISHED" }),
          ...(state in TAB_WORDS && { word: TAB_WORDS[state as keyof typeof TAB_WORDS] }),
          count: counts?.has(state) === true ? capped(counts.get(state) ?? 0) : "",
        }))}
        chosen={filter.tab}
      />
      <SearchBar vocabulary={SEARCH}>
        <ListTools table="runs" columns={RUN_COLUMNS} rows={rows} />
      </SearchBar>
      {after === null && !isFinishedTab(filter.tab) && <QueueCharts filter={filter} />}
      {selection.selected.size > 0 ? (
        <div class="bulk-bar" role="toolbar" aria-label="Selected runs">
          <SelectedCount selection={selection} shown={rows?.map(runId) ?? []} one="run" />
          <BulkButtons
            can={tabActions(filter.tab)}
            ask={(kind) => setBulk({ kind, target: { ids: [...selection.selected] } })}
          />
        </div>
      ) : (
        matching > 0 && (
          <div class="bulk-bar quiet" role="group" aria-label="All that match">
            <span class="dim num">{cappedPlural(matching, "run")} match:</span>
            <BulkButtons
              can={tabActions(filter.tab)}
              of={cappedPlural(matching, "run")}
              ask={(kind) => setBulk({ kind, target: { filter: runsFilterInput(filter, serverNow()) } })}
            />
          </div>
        )
      )}
      <ListPanel
        label="Runs"
        id="runs"
        after={after ?? ""}
        page={`${name} ${after ?? ""}`}
        list={list}
        columns={RUN_COLUMNS}
        context={context}
        rowId={runId}
        rowName={runName}
        selection={selection}
        detail={(run) => <RunPeek key={run.id} id={run.id} />}
        narrowing={{ terms: ["job:"] }}
        empty={<NoRuns filtered={filtered || filter.tab !== ""} q={filter.q} />}
      />
      {bulk !== null && (
        <BulkDialog
          {...bulk}
          onClose={() => setBulk(null)}
          onDone={() => {
            setBulk(null);
            selection.clear();
            recount();
          }}
        />
      )}
    </>
  );
}

interface BulkButtonsProps {
  can: ReturnType<typeof tabActions>;
  /** Of how many runs, where they are not those that were chosen. */
  of?: string;
  ask: (kind: BulkKind) => void;
}

/** What can be done with many runs at once: those that were chosen, or all that match. */
function BulkButtons({ can, of = "", ask }: BulkButtonsProps) {
  return (
    <>
      {can.cancel && (
        <Action class="button small" onClick={() => ask("cancel")}>
          {`Cancel ${of}`.trim()}
        </Action>
      )}
      {can.retry && (
        <Action class="button small" onClick={() => ask("retry")}>
          {of === "" ? "Run again" : `Run ${of} again`}
        </Action>
      )}
      {can.priority && (
        <>
          <Action class="button small" onClick={() => ask("high")}>
            High priority
          </Action>
          <Action class="button small" onClick={() => ask("low")}>
            Low priority
          </Action>
        </>
      )}
    </>
  );
}

/** `customer=42`, which is no name of a task or job. */
const PAIR = /^([\w./-]+)=(\S+)$/;

function NoRuns({ filtered, q }: { filtered: boolean; q: string }) {
  const [, key, value] = PAIR.exec(q.trim()) ?? [];
  return filtered ? (
    <Empty title="No run matches">
      {key !== undefined &&
        (["label", "arg"] as const).map((term) => (
          <button
            key={term}
            type="button"
            class="button"
            onClick={() => setParams({ q: null, [term]: `${key}:${value}`, after: null })}
          >
            Look for {term}:{key}={value}
          </button>
        ))}
      <ClearFilters names={[...FILTERS, "state"]} />
    </Empty>
  ) : (
    <Empty title="The queue is empty">
      <button type="button" class="button" onClick={() => setParams({ state: "ALL" })}>
        All runs
      </button>
      <p class="dim">Tasks put runs here when they are due; so does this:</p>
      <Command text="cronograph trigger cleanup_expired_sessions" />
    </Empty>
  );
}
