import type { ComponentChildren } from "preact";
import type { ExecutionRow } from "../../api/fragments";
import { graphql } from "../../api/tada";
import { integer } from "../../lib/format";
import { paths } from "../../lib/paths";
import { executionStatus } from "../../lib/status";
import { duration } from "../../lib/time";
import { useLive } from "../../live/use-live";
import { notify } from "../../state/announce";
import { Progress } from "../../ui/progress";
import { Section } from "../../ui/section";
import { Status } from "../../ui/status";
import { Elapsed, Time } from "../../ui/time";
import { downloadLog, useLog } from "./log-service";
import { LogView } from "./log-view";

const AttemptDocument = graphql(`
  query AttemptDetail($id: ID!) {
    asOf
    execution(id: $id) { traceback traceUrl }
  }
`);

interface AttemptProps {
  execution: ExecutionRow;
  /** At the right of the title. */
  aside?: ComponentChildren;
}

/** One attempt: how it went, its error, and its log as it is written. */
export function AttemptPanel({ execution, aside }: AttemptProps) {
  const log = useLog(execution.id);
  const detail = useLive(`attempt/${execution.id}`, {
    document: AttemptDocument,
    variables: () => ({ id: execution.id }),
    init: (data) => data.execution ?? { traceback: null, traceUrl: null },
    outdates: (event) => event.executionId === execution.id,
  });
  const download = (): void =>
    void downloadLog(execution.id).catch((error: unknown) =>
      notify(`The log could not be read: ${error instanceof Error ? error.message : String(error)}`, { tone: "bad" }),
    );
  return (
    <Section title={`Attempt ${execution.attempt}`} aside={aside}>
      <AttemptFacts execution={execution} traceUrl={detail.state?.traceUrl ?? null} />
      {execution.completedAt === null && execution.progress !== null && (
        <div class="panel-body big-progress">
          <Progress progress={execution.progress} />
        </div>
      )}
      {execution.errorMessage !== null && <ErrorOf execution={execution} traceback={detail.state?.traceback ?? null} />}
      {detail.error !== null && <p class="field-error panel-body">{detail.error.message}</p>}
      {log.error !== null && <p class="field-error panel-body">{log.error.message}</p>}
      <LogView key={execution.id} buffer={log.buffer} running={execution.completedAt === null} onDownload={download} />
    </Section>
  );
}

/** Where and how long, in one line. */
function AttemptFacts({ execution, traceUrl }: { execution: ExecutionRow; traceUrl: string | null }) {
  const { startedAt, completedAt, wait, recordsProcessed, node } = execution;
  return (
    <p class="attempt-facts panel-body">
      <Status name={executionStatus(execution)} /> <span class="num">execution #{execution.id}</span>{" "}
      <span>
        <Time at={startedAt} form="moment" />
      </span>{" "}
      <span>
        {completedAt === null ? (
          <Elapsed since={startedAt} />
        ) : (
          execution.duration !== null && `took ${duration(execution.duration)}`
        )}
      </span>{" "}
      {wait !== null && <span class="dim">waited {duration(wait)}</span>}
      {recordsProcessed !== null && <span class="num">{integer(recordsProcessed)} records</span>}
      <span class="dim">on {node}</span> <a href={paths.linesOf(execution.id)}>search its log</a>{" "}
      {traceUrl !== null && (
        <a href={traceUrl} rel="noreferrer" target="_blank">
          trace
        </a>
      )}
    </p>
  );
}

function ErrorOf({ execution, traceback }: { execution: ExecutionRow; traceback: string | null }) {
  return (
    <div class="attempt-error panel-body">
      {execution.errorType !== null && <strong>{execution.errorType}</strong>}
      <p class="error-full">{execution.errorMessage}</p>
      {traceback !== null && (
        <details class="traceback">
          <summary>Traceback</summary>
          <pre tabIndex={0}>{traceback}</pre>
        </details>
      )}
    </div>
  );
}
