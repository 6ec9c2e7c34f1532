import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { paths } from "../../lib/paths";
import { runActions } from "../../model/run-filter";
import { retryFlowFrom } from "../../services/flows";
import { cancelRun, retryNow, retryRun, setPriority, undoBulk } from "../../services/runs";
import { navigate } from "../../state/route";
import { Action, Button } from "../../ui/action";
import { Icon } from "../../ui/icon";
import { Name } from "../../ui/name";
import { PageHead } from "../../ui/section";
import { Status } from "../../ui/status";
import { EditRun, RunAgain } from "./dialogs";
import type { RunDetail } from "./document";
import { useNeighbours } from "./neighbours";

interface NeighbourProps {
  /** Undefined until it is known, null where there is none. */
  id: string | null | undefined;
  title: string;
  /** Why there is none. */
  none: string;
  children: ComponentChildren;
}

/** A link to another run; there is room for it even when there is none. */
function Neighbour({ id, title, none, children }: NeighbourProps) {
  if (id === null || id === undefined) {
    return (
      <Button class="button" reason={id === null ? none : "It is being looked for"}>
        {children}
      </Button>
    );
  }
  return (
    <a class="button" href={paths.run(id)} title={title}>
      {children}
    </a>
  );
}

const EXPLORE = `query Run($id: ID!) {
  run(id: $id) {
    id
    jobName
    state
    args
    result
    executions(first: 10) {
      nodes {
        id attempt outcome startedAt duration errorMessage traceback
        logLines(first: 50) { lines { at level message } }
      }
    }
  }
}
`;

/** What a bulk action leads to: the runs that it made, and its undoing. */
function BulkWays({ run }: { run: RunDetail }) {
  const { action } = run.args as { readonly action?: string };
  return (
    <>
      {action === "retry" && (
        <a class="button" href={paths.madeByBulk(run.id)}>
          The new runs
        </a>
      )}
      {run.finishedAt !== null && action !== "makeDue" && (
        <Action
          class="button"
          onClick={() => void undoBulk(run.id).then((by) => by !== null && navigate(paths.run(by)))}
        >
          Undo
        </Action>
      )}
    </>
  );
}

/** Makes the run's flow again from here; the server refuses it as long as the flow is unfinished. */
function FlowAgain({ id, flowId }: { id: string; flowId: string }) {
  return (
    <Action
      class="button"
      title="Once the flow is over: make this run again, and all that come after it"
      onClick={() => void retryFlowFrom(flowId, id).then((done) => done && navigate(paths.flow(flowId)))}
    >
      <Icon name="retry" /> Flow again from here
    </Action>
  );
}

/** The name of a run, its neighbours, and what can be done. */
export function RunHead({ run }: { run: RunDetail }) {
  const [asking, setAsking] = useState<"again" | "edit" | null>(null);
  const { older, newer } = useNeighbours(run);
  const can = runActions(run.state);
  const explore = `/graphiql?${new URLSearchParams({ query: EXPLORE, variables: JSON.stringify({ id: run.id }) }).toString()}`;
  const of = run.task === null ? "job" : "task";
  return (
    <>
      <PageHead
        title={
          <>
            Run <span class="num">{run.id}</span> <Name text={run.taskName ?? run.jobName} />{" "}
            <Status name={run.state} />
          </>
        }
      >
        <Neighbour
          id={older}
          title={`The run before, of the same ${of}`}
          none={`There is no run before it of the same ${of}`}
        >
          <Icon name="left" /> Previous
        </Neighbour>
        <Neighbour
          id={newer}
          title={`The run after, of the same ${of}`}
          none={`There is no run after it of the same ${of}`}
        >
          Next <Icon name="right" />
        </Neighbour>
        {can.retryNow && (
          <Action class="button" onClick={() => void retryNow(run.id)}>
            <Icon name="retry" /> Retry now
          </Action>
        )}
        {can.edit && (
          <Action class="button" onClick={() => setAsking("edit")}>
            <Icon name="edit" /> Change
          </Action>
        )}
        {can.priority && (
          <Action class="button" onClick={() => void setPriority(run.id, run.priority === "HIGH" ? "LOW" : "HIGH")}>
            {run.priority === "HIGH" ? "Low priority" : "High priority"}
          </Action>
        )}
        {run.jobName === "bulk_action" && <BulkWays run={run} />}
        {can.retry && (
          <>
            <Action class="button primary" onClick={() => void retryRun(run.id)}>
              <Icon name="retry" /> Run again
            </Action>
            <Action class="button" onClick={() => setAsking("again")}>
              Run again with…
            </Action>
          </>
        )}
        {can.retry && run.flowPlace !== null && <FlowAgain id={run.id} flowId={run.flowPlace.flowId} />}
        {can.cancel && (
          <Action
            class="button danger"
            reason={run.cancelRequestedAt === null ? null : "It was asked to stop; its job decides when it does"}
            onClick={() => void cancelRun(run.id)}
          >
            <Icon name="stop" /> {run.cancelRequestedAt === null ? "Cancel" : "Asked to stop"}
          </Action>
        )}
        <a class="button" href={explore} title="Open this as a query in the explorer">
          <Icon name="explorer" /> Query
        </a>
      </PageHead>
      {asking === "again" && <RunAgain run={run} onClose={() => setAsking(null)} />}
      {asking === "edit" && <EditRun run={run} onClose={() => setAsking(null)} />}
    </>
  );
}
