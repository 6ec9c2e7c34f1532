import { isEmptyObject } from "../../lib/json";
import { paths } from "../../lib/paths";
import { useLive } from "../../live/use-live";
import { ExplanationView } from "../../parts/explanation";
import { CopyName } from "../../ui/copy-name";
import { Empty } from "../../ui/feedback";
import { JsonView } from "../../ui/json-view";
import { LivePart } from "../../ui/live-part";
import { Status } from "../../ui/status";
import { type Retries, type RunDetail, RunDocument } from "./document";
import { RunFacts } from "./facts";

interface State {
  readonly run: RunDetail | null;
  readonly retries: Retries;
}

/** A run beside the list it stands in: where it stands, why, and what it is made of; its page has all of it. */
export function RunPeek({ id }: { id: string }) {
  const live = useLive(`run/${id}/peek`, {
    document: RunDocument,
    variables: () => ({ id }),
    init: ({ run, retries }): State => ({ run, retries: retries.nodes }),
    outdates: (event) => event.runId === id,
  });
  return (
    <LivePart live={live} rows={8}>
      {({ run, retries }) =>
        run === null ? <Empty title={`There is no run ${id}`} /> : <Peeked run={run} retries={retries} />
      }
    </LivePart>
  );
}

function Peeked({ run, retries }: { run: RunDetail; retries: Retries }) {
  return (
    <>
      <div class="panel-body peek-head">
        <h3>
          <a href={paths.run(run.id)}>
            {run.taskName ?? run.jobName} {run.id}
          </a>{" "}
          <CopyName name={run.taskName ?? run.jobName} />
        </h3>
        <Status name={run.state} />
        <ExplanationView explain={run.explain} />
        {run.error !== null && <p class="error-full">{run.error}</p>}
        {!isEmptyObject(run.args) && <JsonView value={run.args} label="Arguments" />}
        {run.result !== null && <JsonView value={run.result} label="Result" />}
      </div>
      <RunFacts run={run} retries={retries} />
    </>
  );
}
