import { useEffect } from "preact/hooks";
import { type RunRow, RunRowFragment } from "../../api/fragments";
import { graphql } from "../../api/tada";
import { paths } from "../../lib/paths";
import { setTitle } from "../../live/title";
import { useLive } from "../../live/use-live";
import { useLiveList } from "../../live/use-live-list";
import { byNumber } from "../../model/live-list";
import { Labels } from "../../parts/labels";
import { signalsOf, WaitList } from "../../parts/waits";
import { useSteps } from "../../services/steps";
import { WAITING_FOR_PEOPLE } from "../../state/inbox";
import { searchParams } from "../../state/route";
import { Empty, Skeleton } from "../../ui/feedback";
import { JsonView } from "../../ui/json-view";
import { LivePart } from "../../ui/live-part";
import { Pager } from "../../ui/pager";
import { PageHead } from "../../ui/section";

const PAGE = 20;

const InboxDocument = graphql(
  `
  query InboxPage($first: Int!, $after: String, $filter: RunFilter) {
    asOf
    serverTime
    runs(first: $first, after: $after, filter: $filter, orderBy: [{ field: ID }]) {
      nodes { ...RunRow }
      pageInfo { hasNextPage endCursor }
      totalCount
    }
  }
`,
  [RunRowFragment],
);

const ArgsDocument = graphql(`
  query InboxArgs($id: ID!) {
    asOf
    run(id: $id) { args }
  }
`);

/** The runs that go on only when somebody decides, the oldest first. */
export function Inbox() {
  const after = searchParams.value.get("after");
  const list = useLiveList(`inbox${after ?? ""}`, {
    document: InboxDocument,
    variables: () => ({ first: PAGE, after, filter: WAITING_FOR_PEOPLE }),
    page: ({ runs }) => runs,
    parts: ["runs"],
    change: ({ runId, run }) => (runId === undefined || run === undefined ? null : { id: runId, row: run }),
    id: ({ id }) => id,
    // What a suspended run waits for only the server knows.
    matches: (run) => (run.state === "SUSPENDED" ? null : false),
    order: (left, right) => byNumber(left.id, right.id),
    first: after === null,
    size: PAGE,
  });
  useEffect(() => setTitle("Inbox"), []);
  return (
    <>
      <PageHead title="Waiting for people" />
      <LivePart live={list} rows={6}>
        {({ rows, more, end }) => (
          <section class="inbox" aria-label="Waiting for people">
            {rows.length === 0 && (
              <section class="panel">
                <Empty title="No run waits for a person">
                  <p class="dim">
                    Runs come here when their job waits for a signal by <code>ctx.wait_for</code>.
                  </p>
                </Empty>
              </section>
            )}
            {rows.map((run) => (
              <WaitingRun key={run.id} run={run} />
            ))}
            <Pager after={after ?? ""} end={end} more={more} shown={rows.length} />
          </section>
        )}
      </LivePart>
    </>
  );
}

/** The arguments of a run; nothing, for a run without any. They never change. */
function Args({ id }: { id: string }) {
  const { state } = useLive(`inbox-args/${id}`, {
    document: ArgsDocument,
    variables: () => ({ id }),
    init: (data) => data.run?.args ?? {},
  });
  if (state === null || Object.keys(state).length === 0) return null;
  return (
    <div class="panel-body">
      <JsonView value={state} label={`arguments of run ${id}`} />
    </div>
  );
}

function WaitingRun({ run }: { run: RunRow }) {
  const { state } = useSteps(run.id);
  return (
    <article class="panel" aria-label={`Run ${run.id}`}>
      <div class="panel-head">
        <h2>
          <a href={paths.run(run.id)}>
            Run <span class="num">{run.id}</span> {run.taskName ?? run.jobName}
          </a>
        </h2>
        <Labels labels={run.labels} most={4} />
      </div>
      {run.description !== "" && <p class="panel-body">{run.description}</p>}
      <Args id={run.id} />
      {state === null ? <Skeleton rows={1} /> : <WaitList run={run} steps={signalsOf(state.rows)} />}
    </article>
  );
}
