import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { ExecutionRow } from "../../api/fragments";
import { graphql, type ResultOf } from "../../api/tada";
import { integer, plural, words } from "../../lib/format";
import { paths } from "../../lib/paths";
import { resourcesText } from "../../lib/resources";
import { executionStatus } from "../../lib/status";
import { duration } from "../../lib/time";
import { useLive } from "../../live/use-live";
import { Facts } from "../../parts/task-facts";
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
    execution(id: $id) {
      traceback
      traceUrl
      remoteAttempt {
        executor
        name
        handle
        pageUrl
        engineState
        engineText
        engineStateAt
        queuePosition
        queueLength
        submittedAt
        startedAt
        heardAt
        resources { cpus memory gpus image queue options }
      }
    }
  }
`);

type RemoteAttempt = NonNullable<NonNullable<ResultOf<typeof AttemptDocument>["execution"]>["remoteAttempt"]>;

/** Milliseconds between two looks at an attempt at an engine. */
const LOOK = 2_000;

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
    init: (data) => data.execution ?? { traceback: null, traceUrl: null, remoteAttempt: null },
    outdates: (event) => event.executionId === execution.id,
  });
  const remote = detail.state?.remoteAttempt ?? null;
  const looks = remote !== null && execution.completedAt === null;
  useEffect(() => {
    // What an engine says of an attempt is no event.
    const timer = looks ? window.setInterval(detail.reload, LOOK) : undefined;
    return () => window.clearInterval(timer);
  }, [looks, execution.id]);
  const download = (): void =>
    void downloadLog(execution.id).catch((error: unknown) =>
      notify(`The log could not be read: ${error instanceof Error ? error.message : String(error)}`, { tone: "bad" }),
    );
  return (
    <Section title={`Attempt ${execution.attempt}`} aside={aside}>
      <AttemptFacts execution={execution} traceUrl={detail.state?.traceUrl ?? null} />
      {remote !== null && <AtEngine remote={remote} />}
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
      {/* That of a later attempt holds the attempts and the waits before it, which the course shows. */}
      {wait !== null && execution.attempt === 1 && <span class="dim">waited {duration(wait)}</span>}
      {recordsProcessed !== null && <span class="num">{plural(recordsProcessed, "record")}</span>}
      <span class="dim">on {node}</span> <a href={paths.linesOf(execution.id)}>search its log</a>{" "}
      {traceUrl !== null && (
        <a href={traceUrl} rel="noreferrer" target="_blank">
          trace
        </a>
      )}
    </p>
  );
}

/** Where an attempt is that was handed to an engine, and what that says of it. */
function AtEngine({ remote }: { remote: RemoteAttempt }) {
  const { executor, handle, name, pageUrl, engineState, engineText, engineStateAt, resources } = remote;
  const known = handle ?? name;
  return (
    <section aria-label={`At ${executor}`}>
      <Facts
        entries={[
          [
            `At ${executor}`,
            pageUrl === null ? (
              <code>{known}</code>
            ) : (
              <a href={pageUrl} rel="noreferrer" target="_blank">
                <code>{known}</code>
              </a>
            ),
          ],
          [
            "Engine says",
            <>
              {words(engineState)}
              {engineText === "" ? "" : `: ${engineText}`},{" "}
              <span class="dim">
                since <Time at={engineStateAt} form="moment" />
              </span>
            </>,
          ],
          ...(remote.queuePosition === null
            ? []
            : ([
                ["Waits there", `as number ${integer(remote.queuePosition)} of ${integer(remote.queueLength ?? 0)}`],
              ] as const)),
          ["Submitted", <Time at={remote.submittedAt} form="moment" />],
          ["Its code began", remote.startedAt === null ? "not yet" : <Time at={remote.startedAt} form="moment" />],
          ...(remote.heardAt === null ? [] : ([["Last heard", <Time at={remote.heardAt} form="moment" />]] as const)),
          ...(resources === null ? [] : ([["Resources", <code>{resourcesText(resources)}</code>]] as const)),
        ]}
      />
    </section>
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
