import { useEffect, useMemo, useState } from "preact/hooks";
import { request } from "../../api/client";
import { type NodeRow, NodeRowFragment } from "../../api/fragments";
import { graphql } from "../../api/tada";
import { integer, plural } from "../../lib/format";
import { paths } from "../../lib/paths";
import { duration } from "../../lib/time";
import { setTitle } from "../../live/title";
import { tryRows, useLiveList } from "../../live/use-live-list";
import { SILENT } from "../../model/attention";
import { byNumber } from "../../model/live-list";
import { ClearFilters } from "../../parts/filters";
import { ListTools } from "../../parts/list-tools";
import { drainNode, resumeNode } from "../../services/operations";
import { notify } from "../../state/announce";
import { searchParams } from "../../state/route";
import { Action } from "../../ui/action";
import { Confirm } from "../../ui/confirm";
import type { Column } from "../../ui/data-table";
import { Empty } from "../../ui/feedback";
import { ListPanel } from "../../ui/list-panel";
import { Name } from "../../ui/name";
import { PageHead } from "../../ui/section";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";
import { SearchBar } from "../search/bar";
import { filtersOf, type Vocabulary } from "../search/model";
import { choiceOf } from "./node-choice";

const NodesDocument = graphql(
  `
  query NodesPage($first: Int!, $after: String, $filter: NodeFilter) {
    asOf
    serverTime
    nodes(first: $first, after: $after, filter: $filter, orderBy: [{ field: ID, direction: DESC }]) {
      nodes { ...NodeRow }
      pageInfo { hasNextPage endCursor }
    }
  }
`,
  [NodeRowFragment],
);

/**
 * The names of all jobs of many nodes are more than all else that the page reads: they are read for one node that one
 * looks at.
 */
const JobsOfNodeDocument = graphql(`
  query JobsOfNode($id: ID!) {
    nodes(first: 1, filter: { id: { eq: $id } }) { nodes { jobs } }
  }
`);

/** Clocks that differ by more than this are shown as a warning, in seconds. */
const SKEW = 2;

const PAGE = 100;
const SEARCH: Vocabulary = {
  label: "Name",
  param: "q",
  terms: [
    {
      prefix: "state:",
      param: "state",
      label: "State",
      options: [
        ["up", "up"],
        ["gone", "gone"],
      ],
    },
  ],
};
const FILTERS = filtersOf(SEARCH);
const UP: NodeRow["state"][] = ["STARTING", "ACTIVE", "STALLED", "DRAINING", "STOPPING"];
const GONE: NodeRow["state"][] = ["STOPPED", "EXPIRED"];

function readNodeFilter(params: URLSearchParams): { readonly q: string; readonly state: "up" | "gone" | "" } {
  const state = params.get("state");
  return { q: params.get("q") ?? "", state: state === "up" || state === "gone" ? state : "" };
}

function nodeFilter(params: URLSearchParams) {
  const { q, state } = readNodeFilter(params);
  return {
    ...(q !== "" && { name: { contains: q } }),
    ...(state === "up" && { state: { in: UP } }),
    ...(state === "gone" && { state: { in: GONE } }),
  };
}

function matches(params: URLSearchParams, node: NodeRow): boolean {
  const { q, state } = readNodeFilter(params);
  return (
    node.name.toLowerCase().includes(q.toLowerCase()) && (state === "" || (state === "up") === UP.includes(node.state))
  );
}

interface NodeContext {
  drain(name: string): void;
  resume(name: string): void;
}

const COLUMNS: readonly Column<NodeRow, NodeContext>[] = [
  {
    key: "name",
    title: "Node",
    width: 180,
    grow: 2,
    rank: 0,
    card: "title",
    name: ({ name }) => name,
    cell: (node) => (
      <a class="row-main" href={`/log?node=${encodeURIComponent(node.name)}`} data-key="Enter">
        <Name text={node.name} />
      </a>
    ),
  },
  {
    key: "status",
    title: "State",
    width: 116,
    grow: 1,
    rank: 0,
    card: "pair",
    bare: true,
    cell: (node) => <StateOf node={node} />,
  },
  {
    key: "slots",
    title: "Slots in use",
    width: 176,
    rank: 2,
    card: "wide",
    bare: true,
    cell: (node) => <Slots node={node} />,
  },
  {
    key: "heartbeat",
    title: "Heartbeat",
    width: 120,
    rank: 1,
    card: "pair",
    // No event tells of a heartbeat that comes as it should: its age would only grow until something else happens.
    cell: (node) =>
      UP.includes(node.state) && node.stall !== SILENT ? (
        <span class="dim" title="A node that misses two heartbeats shows as stalled">
          on time
        </span>
      ) : (
        <Time at={node.heartbeatAt} />
      ),
  },
  { key: "started", title: "Started", width: 120, rank: 4, card: "pair", cell: (node) => <Time at={node.startedAt} /> },
  {
    key: "clock",
    title: "Clock",
    width: 96,
    rank: 3,
    card: "pair",
    number: true,
    cell: (node) => <Skew seconds={node.clockSkew} />,
  },
  {
    key: "version",
    title: "Version",
    width: 96,
    rank: 5,
    card: "pair",
    number: true,
    cell: (node) => <span class="dim">{node.version}</span>,
  },
  {
    key: "jobs",
    title: "Jobs",
    width: 130,
    grow: 1,
    rank: 4,
    card: "wide",
    bare: true,
    cell: (node) => <Jobs node={node} />,
  },
  {
    key: "actions",
    title: "Actions",
    untitled: true,
    width: 96,
    rank: 0,
    card: "actions",
    cell: (node, { drain, resume }) =>
      node.state === "ACTIVE" || node.state === "STALLED" ? (
        <Action needs="ADMIN" class="button small" aria-label={`Drain ${node.name}`} onClick={() => drain(node.name)}>
          Drain
        </Action>
      ) : (
        node.state === "DRAINING" && (
          <Action
            needs="ADMIN"
            class="button small"
            aria-label={`Resume ${node.name}`}
            onClick={() => resume(node.name)}
          >
            Resume
          </Action>
        )
      ),
  },
];

/** The state, and what keeps a node from being as well as that says. */
function StateOf({ node: { state, blockage, stall, heartbeatAt } }: { node: NodeRow }) {
  return (
    <>
      <Status name={state} />
      {state === "STALLED" && stall !== null && (
        <span class="tone-warn cell-sub">
          {stall === SILENT ? (
            <>
              silent since <Time at={heartbeatAt} />
            </>
          ) : (
            `its ${stall} stands still`
          )}
        </span>
      )}
      {blockage !== null && (
        <span class="tone-warn cell-sub">
          its event loop stands still since <Time at={blockage.beganAt} />
          {blockage.jobName !== null && (
            <>
              , in{" "}
              {blockage.runId === null ? blockage.jobName : <a href={paths.run(blockage.runId)}>{blockage.jobName}</a>}
            </>
          )}
        </span>
      )}
    </>
  );
}

function Slots({ node }: { node: NodeRow }) {
  const used = UP.includes(node.state) ? node.running : 0;
  return (
    <span class="progress">
      <progress max={Math.max(1, node.slots)} value={used} aria-label="Slots in use" />
      <span class="num">
        {integer(used)} of {integer(node.slots)}
      </span>
    </span>
  );
}

function Skew({ seconds }: { seconds: number }) {
  return (
    <span class={Math.abs(seconds) > SKEW ? "tone-warn" : "dim"} title="Its clock minus the database's">
      {Math.abs(seconds) < 0.05 ? "exact" : `${seconds > 0 ? "+" : "−"}${duration(Math.abs(seconds))}`}
    </span>
  );
}

/**
 * The names of the jobs that a node knows, while they are wanted; null until they are read. They are read again when it
 * knows more or fewer.
 */
function useJobs({ id, name, jobCount }: NodeRow, wanted: boolean): readonly string[] | null {
  const [names, setNames] = useState<readonly string[] | null>(null);
  useEffect(() => {
    if (!wanted) return undefined;
    const controller = new AbortController();
    request(JobsOfNodeDocument, { id }, controller.signal).then(
      ({ nodes }) => setNames(nodes.nodes[0]?.jobs ?? []),
      (error: unknown) => {
        if (!controller.signal.aborted)
          notify(`The jobs of ${name} could not be read: ${error instanceof Error ? error.message : String(error)}`, {
            tone: "bad",
          });
      },
    );
    return () => controller.abort();
  }, [id, jobCount, wanted]);
  return names;
}

/**
 * The jobs that a node knows, read and drawn only while one looks at them: many nodes with many jobs are very many
 * names.
 */
function Jobs({ node }: { node: NodeRow }) {
  const [open, setOpen] = useState(false);
  const choice = choiceOf(node);
  const names = useJobs(node, open);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="dim">{choice === "" ? plural(node.jobCount, "job") : choice}</summary>
      {open && (
        <ul class="job-names">
          {names === null && <li class="dim">Reading…</li>}
          {names?.map((job) => (
            <li key={job}>
              <a href={paths.job(job)}>{job}</a>
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

function useNodes(params: URLSearchParams, after: string | null, key: string) {
  return useLiveList(key, {
    document: NodesDocument,
    variables: () => ({ first: PAGE, after, filter: nodeFilter(params) }),
    page: ({ nodes }) => nodes,
    parts: ["nodes"],
    change: ({ kind, changedNode: node }) =>
      !kind.startsWith("NODE_") || node === null || node === undefined ? null : { id: node.id, row: node },
    id: (node) => node.id,
    matches: (node) => matches(params, node),
    order: (left, right) => byNumber(right.id, left.id),
    first: after === null,
    size: PAGE,
    outdates: (event) => event.kind.startsWith("EXECUTION_"),
    every: 1_500,
  });
}

export function Nodes() {
  const params = searchParams.value;
  const after = params.get("after");
  const key = `nodes?${["after", ...FILTERS].map((name) => params.get(name) ?? "").join("&")}`;
  const list = useNodes(params, after, key);
  const [draining, setDraining] = useState<string | null>(null);
  useEffect(() => setTitle("Nodes"), []);
  const filtered = FILTERS.some((name) => params.has(name));
  const tryState = (name: string, state: NodeRow["state"], act: () => Promise<boolean>): Promise<void> =>
    tryRows(list, (node) => node.name === name && UP.includes(node.state), { state }, act);
  const context = useMemo(
    (): NodeContext => ({
      drain: setDraining,
      resume: (name) => void tryState(name, "ACTIVE", () => resumeNode(name)),
    }),
    [key],
  );
  return (
    <>
      <PageHead title="Nodes" />
      <SearchBar vocabulary={SEARCH}>
        <ListTools table="nodes" columns={COLUMNS} rows={list.state?.rows ?? null} />
      </SearchBar>
      <ListPanel
        label="Nodes"
        id="nodes"
        after={after ?? ""}
        page={key}
        list={list}
        columns={COLUMNS}
        context={context}
        rowId={(node) => node.id}
        rowClass={(node) => (UP.includes(node.state) ? "" : "gone")}
        empty={
          <Empty title={filtered ? "No node matches" : "No node is there"}>
            {filtered && <ClearFilters names={FILTERS} />}
          </Empty>
        }
      />
      {draining !== null && (
        <Confirm
          title={`Drain ${draining}?`}
          action="Drain it"
          onClose={() => setDraining(null)}
          onConfirm={async () => {
            setDraining(null);
            await tryState(draining, "DRAINING", () => drainNode(draining));
          }}
        >
          <p>It takes nothing new, finishes what it runs, and then ends. Until then it can be resumed.</p>
        </Confirm>
      )}
    </>
  );
}
