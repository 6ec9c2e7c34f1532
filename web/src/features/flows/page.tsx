import { useEffect } from "preact/hooks";
import { graphql } from "../../api/tada";
import { integer, words } from "../../lib/format";
import { labelInput } from "../../lib/labels";
import { paths } from "../../lib/paths";
import { setTitle } from "../../live/title";
import { useLiveList } from "../../live/use-live-list";
import { byNumber } from "../../model/live-list";
import { ClearFilters } from "../../parts/filters";
import { Labels } from "../../parts/labels";
import { ListTools } from "../../parts/list-tools";
import { searchParams } from "../../state/route";
import type { Column } from "../../ui/data-table";
import { Empty } from "../../ui/feedback";
import { ListPanel } from "../../ui/list-panel";
import { Name } from "../../ui/name";
import { PageHead } from "../../ui/section";
import { Status } from "../../ui/status";
import { Elapsed, Time } from "../../ui/time";
import { SearchBar } from "../search/bar";
import { filtersOf, type Vocabulary } from "../search/model";
import { type FlowRow, FlowRowFragment } from "./flow-document";
import { countsOf, StateBar } from "./state-bar";

const PAGE = 50;
const STATES = ["RUNNING", "SUCCESS", "FAILED", "CANCELLED"] as const;
const SEARCH: Vocabulary = {
  label: "Name",
  param: "q",
  terms: [
    { prefix: "state:", param: "state", label: "State", options: STATES.map((state) => [state, words(state)]) },
    { prefix: "label:", param: "label", label: "Label", names: "label", form: "label" },
  ],
};
const FILTERS = filtersOf(SEARCH);

const FlowsDocument = graphql(
  `
  query FlowsPage($first: Int!, $after: String, $filter: FlowFilter) {
    asOf
    serverTime
    flows(first: $first, after: $after, filter: $filter) {
      nodes { ...FlowRow }
      pageInfo { hasNextPage endCursor }
    }
  }
`,
  [FlowRowFragment],
);

const COLUMNS: readonly Column<FlowRow>[] = [
  {
    key: "state",
    title: "State",
    width: 124,
    rank: 0,
    card: "pair",
    bare: true,
    cell: ({ state }) => <Status name={state} />,
  },
  {
    key: "name",
    title: "Flow",
    width: 200,
    grow: 2,
    rank: 0,
    card: "title",
    name: ({ name }) => name,
    cell: ({ id, name, isOpen, labels }) => (
      <>
        <a class="row-main" href={paths.flow(id)} data-key="Enter">
          <Name text={name} />
        </a>{" "}
        <span class="dim cell-sub">
          flow {id}
          {isOpen && ", open for more runs"}
        </span>
        <Labels labels={labels} list="/flows" most={3} />
      </>
    ),
  },
  {
    key: "progress",
    title: "Progress",
    width: 190,
    grow: 1,
    rank: 1,
    card: "wide",
    bare: true,
    cell: (flow) => <FlowProgress flow={flow} />,
  },
  {
    key: "submitted",
    title: "Enqueued",
    width: 132,
    rank: 2,
    card: "pair",
    cell: ({ submittedAt }) => <Time at={submittedAt} form="moment" />,
  },
  {
    key: "ended",
    title: "Ended",
    width: 132,
    rank: 3,
    card: "pair",
    cell: ({ submittedAt, finishedAt }) =>
      finishedAt === null ? (
        <span class="dim">
          not yet, <Elapsed since={submittedAt} />
        </span>
      ) : (
        <Time at={finishedAt} form="moment" />
      ),
  },
  {
    key: "by",
    title: "Submitted by",
    width: 140,
    rank: 5,
    card: "none",
    cell: ({ submitter }) => <span class="dim">{submitter ?? "–"}</span>,
  },
];

/** In which states the runs of a flow are, how many are over, and how many went wrong. */
export function FlowProgress({ flow: { progress } }: { flow: FlowRow }) {
  const bad = [
    progress.failed > 0 && `${integer(progress.failed)} failed`,
    progress.cancelled > 0 && `${integer(progress.cancelled)} cancelled`,
    progress.skipped > 0 && `${integer(progress.skipped)} skipped`,
  ].filter((part) => part !== false);
  return (
    <span class="flow-progress">
      <StateBar counts={countsOf(progress)} />
      <span class="num">
        {integer(progress.done)} of {integer(progress.total)}
        {bad.length > 0 && <span class="dim">, {bad.join(", ")}</span>}
      </span>
    </span>
  );
}

export function Flows() {
  const params = searchParams.value;
  const after = params.get("after");
  const q = params.get("q") ?? "";
  const state = STATES.find((each) => each === params.get("state"));
  const label = params.get("label") ?? "";
  const labels = labelInput(label);
  const list = useLiveList(`flows${JSON.stringify([q, state, label, after])}`, {
    document: FlowsDocument,
    variables: () => ({
      first: PAGE,
      after,
      filter: {
        ...(q !== "" && { name: { contains: q } }),
        ...(state !== undefined && { state: { eq: state } }),
        ...(labels !== null && { labels }),
      },
    }),
    page: ({ flows }) => flows,
    id: ({ id }) => id,
    matches: () => null,
    order: (left, right) => byNumber(right.id, left.id),
    first: after === null,
    size: PAGE,
    // Progress changes with each run of a flow; other runs change nothing here.
    outdates: ({ flowId }) => typeof flowId === "string",
    every: 1_000,
  });
  useEffect(() => setTitle("Flows"), []);
  const filtered = FILTERS.some((name) => params.has(name));
  return (
    <>
      <PageHead title="Flows" />
      <SearchBar vocabulary={SEARCH}>
        <ListTools table="flows" columns={COLUMNS} rows={list.state?.rows ?? null} />
      </SearchBar>
      <ListPanel
        label="Flows"
        id="flows"
        after={after ?? ""}
        page={JSON.stringify([q, state, label, after])}
        list={list}
        columns={COLUMNS}
        context={null}
        rowId={({ id }) => id}
        tall
        empty={
          filtered ? (
            <Empty title="No flow matches">
              <ClearFilters names={FILTERS} />
            </Empty>
          ) : (
            <Empty title="There is no flow yet">
              <p class="dim">
                Flows come from <code>enqueueFlow</code> of the API, and from jobs that begin runs by{" "}
                <code>ctx.run_all</code>.
              </p>
            </Empty>
          )
        }
      />
    </>
  );
}
