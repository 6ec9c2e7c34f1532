import { useEffect, useState } from "preact/hooks";
import { Confirm } from "../components/confirm";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { ClearFilters, FilterBar, SelectFilter, TextFilter } from "../components/filters";
import { Pager } from "../components/pager";
import { PageHead } from "../components/section";
import { Status } from "../components/status";
import { Time } from "../components/time";
import { NodeRowFragment, type LiveEvent, type NodeRow } from "../graphql/fragments";
import { graphql } from "../graphql/tada";
import { plural } from "../lib/format";
import { paths } from "../lib/paths";
import { duration } from "../lib/time";
import { useLive } from "../live/use-live";
import { replace } from "../model/rows";
import { drainNode } from "../services/operations";
import { searchParams } from "../state/route";
import { setTitle } from "../state/title";

const NodesDocument = graphql(
  `
  query NodesPage($first: Int!, $after: String, $filter: NodeFilter) {
    asOf
    serverTime
    nodes(first: $first, after: $after, filter: $filter) {
      nodes { ...NodeRow }
      pageInfo { hasNextPage endCursor }
    }
  }
`,
  [NodeRowFragment],
);

/** Clocks that differ by more than this are shown as a warning, in seconds. */
const SKEW = 2;

const PAGE = 100;
const FILTERS = ["q", "state"];
const UP: NodeRow["state"][] = ["STARTING", "ACTIVE", "DRAINING"];
const GONE: NodeRow["state"][] = ["STOPPED", "EXPIRED"];

interface State {
  readonly nodes: readonly NodeRow[];
  readonly end: string | null;
  readonly more: boolean;
}

/** Rows change in place at once; which rows there are, the server says. */
function reduceNodes(state: State, { node }: LiveEvent): State {
  if (node === null) return state;
  const nodes = replace(state.nodes, node);
  return nodes === state.nodes ? state : { ...state, nodes };
}

function nodeFilter(params: URLSearchParams) {
  const [q, state] = [params.get("q") ?? "", params.get("state") ?? ""];
  return {
    ...(q !== "" && { name: { contains: q } }),
    ...(state === "up" && { state: { in: UP } }),
    ...(state === "gone" && { state: { in: GONE } }),
  };
}

export function Nodes() {
  const params = searchParams.value;
  const key = ["after", ...FILTERS].map((name) => params.get(name) ?? "").join("&");
  const { state, error, reload } = useLive(`nodes?${key}`, {
    document: NodesDocument,
    variables: { first: PAGE, after: params.get("after"), filter: nodeFilter(params) },
    init: ({ nodes }): State => ({ nodes: nodes.nodes, end: nodes.pageInfo.endCursor, more: nodes.pageInfo.hasNextPage }),
    reduce: reduceNodes,
    outdates: (event) => event.kind.startsWith("EXECUTION_") || event.kind.startsWith("NODE_"),
    every: 3_000,
  });
  const [draining, setDraining] = useState<string | null>(null);
  useEffect(() => setTitle("Nodes"), []);
  const filtered = FILTERS.some((name) => params.has(name));
  return (
    <>
      <PageHead title="Nodes" />
      <FilterBar>
        <TextFilter name="q" value={params.get("q") ?? ""} label="Name" main />
        <SelectFilter name="state" value={params.get("state") ?? ""} label="State" all="Any state" options={[["up", "up"], ["gone", "gone"]]} />
        {filtered && <ClearFilters names={FILTERS} />}
      </FilterBar>
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {state === null && error === null && <Skeleton rows={6} />}
      {state !== null && (
        <section class={error === null ? "panel" : "panel dimmed"} aria-label="Nodes">
          {state.nodes.length === 0 ? (
            <Empty title={filtered ? "No node matches" : "No node is there"}>{filtered && <ClearFilters names={FILTERS} />}</Empty>
          ) : (
            <table class="table nodes">
              <thead>
                <tr>
                  <th class="col-name">Node</th>
                  <th class="col-status">State</th>
                  <th class="col-slots">Slots in use</th>
                  <th class="col-last">Heartbeat</th>
                  <th class="col-last">Started</th>
                  <th class="col-num">Clock</th>
                  <th class="col-num">Version</th>
                  <th>Jobs</th>
                  <th class="col-actions">
                    <span class="visually-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {state.nodes.map((node) => (
                  <NodeLine key={node.id} node={node} drain={() => setDraining(node.name)} />
                ))}
              </tbody>
            </table>
          )}
          <Pager after={params.get("after") ?? ""} end={state.end} more={state.more} shown={state.nodes.length} />
        </section>
      )}
      {draining !== null && (
        <Confirm
          title={`Drain ${draining}?`}
          action="Drain it"
          onClose={() => setDraining(null)}
          onConfirm={async () => {
            await drainNode(draining);
            setDraining(null);
          }}
        >
          <p>It takes nothing new and finishes what it runs. To bring it back, start it anew.</p>
        </Confirm>
      )}
    </>
  );
}

function NodeLine({ node, drain }: { node: NodeRow; drain: () => void }) {
  const alive = UP.includes(node.state);
  const skewed = Math.abs(node.clockSkew) > SKEW;
  return (
    <tr data-row tabIndex={-1} class={alive ? "" : "gone"}>
      <td class="cell-name">
        <a class="row-main" href={`/log?node=${encodeURIComponent(node.name)}`} data-key="Enter">
          {node.name}
        </a>
      </td>
      <td>
        <Status name={node.state} />
      </td>
      <td data-label="Slots" class="cell-slots">
        <span class="progress">
          <progress max={Math.max(1, node.slots)} value={alive ? node.running : 0} aria-label="Slots in use" />
          <span class="num">
            {alive ? node.running : 0} of {node.slots}
          </span>
        </span>
      </td>
      <td data-label="Heartbeat">
        <Time at={node.heartbeatAt} />
      </td>
      <td data-label="Started">
        <Time at={node.startedAt} />
      </td>
      <td data-label="Clock" class={skewed ? "cell-num tone-warn" : "cell-num dim"} title="Its clock minus the database's">
        {Math.abs(node.clockSkew) < 0.05 ? "exact" : `${node.clockSkew > 0 ? "+" : "−"}${duration(Math.abs(node.clockSkew))}`}
      </td>
      <td data-label="Version" class="cell-num dim">
        {node.version}
      </td>
      <td class="cell-jobs">
        <details>
          <summary class="dim">{plural(node.jobs.length, "job")}</summary>
          <ul class="job-names">
            {node.jobs.map((job) => (
              <li key={job}>
                <a href={paths.job(job)}>{job}</a>
              </li>
            ))}
          </ul>
        </details>
      </td>
      <td class="cell-actions">
        {node.state === "ACTIVE" && (
          <button type="button" class="button small" aria-label={`Drain ${node.name}`} onClick={drain}>
            Drain
          </button>
        )}
      </td>
    </tr>
  );
}
