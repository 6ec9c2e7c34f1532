import { useEffect } from "preact/hooks";
import { type ExecutionRow, ExecutionRowFragment, executionOf } from "../../api/fragments";
import { graphql } from "../../api/tada";
import { words } from "../../lib/format";
import { serverNow } from "../../live/clock";
import { setTitle } from "../../live/title";
import { useLiveList } from "../../live/use-live-list";
import { byNumber } from "../../model/live-list";
import {
  isFiltered,
  isOfGroupOrOwner,
  type LogFilter,
  logFilterInput,
  matchesLogFilter,
  OUTCOMES,
  RANGES,
  rangeWords,
  readLogFilter,
  TRIGGERS,
} from "../../model/log-filter";
import { withProgress, withRecovery } from "../../model/rows";
import { EXECUTION_COLUMNS, executionId, NothingYet } from "../../parts/execution-table";
import { ClearFilters, SelectFilter } from "../../parts/filters";
import { ListTools } from "../../parts/list-tools";
import { searchParams } from "../../state/route";
import { Empty } from "../../ui/feedback";
import { Icon } from "../../ui/icon";
import { lazy } from "../../ui/lazy";
import { ListPanel } from "../../ui/list-panel";
import { PageHead } from "../../ui/section";
import { SearchBar } from "../search/bar";
import { filtersOf, type Vocabulary } from "../search/model";
import { LogCharts } from "./log-charts";

const Archived = lazy(() => import("./archived").then((module) => module.Archived), "overlay");
const RunPeek = lazy(() => import("../run/peek").then((module) => module.RunPeek), "part");
const PAGE = 50;
const SEARCH: Vocabulary = {
  label: "Job, task or error",
  param: "q",
  terms: [
    { prefix: "job:", param: "job", label: "Job", names: "job" },
    { prefix: "task:", param: "task", label: "Task", names: "task", exact: true },
    {
      prefix: "outcome:",
      param: "outcome",
      label: "Outcome",
      options: [
        ["failures", "any failure"],
        ["running", "running"],
        ...OUTCOMES.map((outcome) => [outcome, words(outcome)] as const),
      ],
    },
    {
      prefix: "range:",
      param: "range",
      label: "Started within",
      options: Object.keys(RANGES).map((range) => [range, `last ${rangeWords(range)}`]),
    },
    { prefix: ">", param: "over", label: "Longer than", form: "duration" },
    { prefix: "<", param: "under", label: "Shorter than", form: "duration" },
    { prefix: "group:", param: "group", label: "Group", names: "group", exact: true },
    { prefix: "owner:", param: "owner", label: "Owner", names: "owner", exact: true },
    { prefix: "label:", param: "label", label: "Label", names: "label", form: "label" },
    {
      prefix: "trigger:",
      param: "trigger",
      label: "Trigger",
      options: TRIGGERS.map((trigger) => [trigger, words(trigger)]),
    },
    { prefix: "node:", param: "node", label: "Node", names: "node" },
    { prefix: "run:", param: "run", label: "Run", form: "number" },
  ],
};
const FILTERS = filtersOf(SEARCH);
/** What the log is ordered by where no index has that order. */
const UNINDEXED: Partial<Record<Sort, string>> = { longest: "by duration", records: "by records" };
const SPANS = {
  param: "range",
  words: new Map(Object.keys(RANGES).map((range) => [range, `Last ${rangeWords(range)}`])),
};
const NEWEST = { param: "sort", words: "Newest first" };

const LogDocument = graphql(
  `
  query LogPage($first: Int!, $after: String, $filter: ExecutionFilter, $orderBy: [ExecutionOrder!]) {
    asOf
    serverTime
    executions(first: $first, after: $after, filter: $filter, orderBy: $orderBy) {
      nodes { ...ExecutionRow labels isRecovered }
      pageInfo { hasNextPage endCursor }
    }
  }
`,
  [ExecutionRowFragment],
);

const ORDERS = {
  newest: {
    field: "ID",
    direction: "DESC",
    compare: (left: ExecutionRow, right: ExecutionRow) => byNumber(right.id, left.id),
  },
  oldest: {
    field: "ID",
    direction: "ASC",
    compare: (left: ExecutionRow, right: ExecutionRow) => byNumber(left.id, right.id),
  },
  longest: { field: "DURATION", direction: "DESC", compare: () => null },
  records: { field: "RECORDS_PROCESSED", direction: "DESC", compare: () => null },
} as const;
type Sort = keyof typeof ORDERS;

function readSort(params: URLSearchParams): Sort {
  const sort = params.get("sort") ?? "";
  return sort in ORDERS ? (sort as Sort) : "newest";
}

function useLog(filter: LogFilter, sort: Sort, after: string | null) {
  const { field, direction, compare } = ORDERS[sort];
  return useLiveList(`log${JSON.stringify([filter, after, sort])}`, {
    document: LogDocument,
    variables: () => ({
      first: PAGE,
      after,
      filter: logFilterInput(filter, serverNow()),
      orderBy: [{ field, direction }],
    }),
    page: ({ executions }) => executions,
    parts: ["executions", "runs"],
    change: (event) =>
      event.executionId === undefined || event.execution === undefined
        ? null
        : { id: event.executionId, row: executionOf(event) },
    touch: (rows, { run }) => withRecovery(withProgress(rows, run ?? null), run ?? null),
    id: executionId,
    matches: (execution) => matchesLogFilter(filter, execution),
    order: compare,
    first: after === null,
    size: PAGE,
    // Where the page cannot say whether or where a row belongs, it asks; that is dear, so less often.
    every: sort === "longest" || sort === "records" || isOfGroupOrOwner(filter) ? 1_500 : 1_000,
  });
}

/** What its headings order the log by. */
const HEADINGS = {
  started: { ascending: "oldest", descending: "newest" },
  duration: { descending: "longest" },
  records: { descending: "records" },
} as const;

export function Log() {
  const params = searchParams.value;
  const filter = readLogFilter(params);
  const after = params.get("after");
  const sort = readSort(params);
  const list = useLog(filter, sort, after);
  useEffect(() => setTitle("Log"), []);
  const empty = isFiltered(filter) ? (
    <Empty title="No execution matches">
      <ClearFilters names={FILTERS} />
    </Empty>
  ) : (
    <NothingYet />
  );
  return (
    <>
      <PageHead title="Execution log">
        <a class="button" href={`/lines${filter.job === "" ? "" : `?job=${encodeURIComponent(filter.job)}`}`}>
          <Icon name="search" /> Log lines
        </a>
      </PageHead>
      <SearchBar vocabulary={SEARCH} order={<LogOrder sort={sort} />}>
        <ListTools table="executions" columns={EXECUTION_COLUMNS} rows={list.state?.rows ?? null} />
      </SearchBar>
      {after === null && <LogCharts filter={filter} />}
      <ListPanel
        label="Executions"
        id="executions"
        sorting={{ sorts: HEADINGS, sort, usual: "newest" }}
        after={after ?? ""}
        page={JSON.stringify([filter, sort, after])}
        list={list}
        columns={EXECUTION_COLUMNS}
        context={null}
        rowId={executionId}
        detail={({ run }) =>
          run === null ? <Empty title="Its run was pruned" /> : <RunPeek key={run.id} id={run.id} />
        }
        narrowing={{ order: UNINDEXED[sort], spans: SPANS, usual: NEWEST, terms: ["task:", "run:"] }}
        empty={empty}
      />
      {list.state !== null && (sort === "newest" ? !list.state.more : after === null) && (
        <Archived from={filter.range === "" ? null : serverNow() - RANGES[filter.range] * 3_600_000} />
      )}
    </>
  );
}

function LogOrder({ sort }: { sort: Sort }) {
  return (
    <SelectFilter
      name="sort"
      value={sort === "newest" ? "" : sort}
      label="Order"
      all="newest first"
      usual="newest"
      options={[
        ["oldest", "oldest first"],
        ["longest", "longest first"],
        ["records", "most records"],
      ]}
    />
  );
}
