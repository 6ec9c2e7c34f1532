import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Action } from "../components/action";
import { Attempts } from "../components/attempts";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { Icon } from "../components/icon";
import { JsonView } from "../components/json-view";
import { CourseChart } from "../components/course";
import { LogView } from "../components/log-view";
import { Progress } from "../components/progress";
import { PageHead, Section } from "../components/section";
import { Status } from "../components/status";
import { Facts } from "../components/task-facts";
import { request } from "../graphql/client";
import { type ExecutionRow, ExecutionRowFragment } from "../graphql/fragments";
import { graphql, type ResultOf } from "../graphql/tada";
import { integer, plural, words } from "../lib/format";
import { isEmptyObject } from "../lib/args-schema";
import { paths } from "../lib/paths";
import { runActions } from "../lib/run-filter";
import { executionStatus } from "../lib/status";
import { duration } from "../lib/time";
import { frozen } from "../live/clock";
import { useLive } from "../live/use-live";
import { courseOf, type Phase } from "../model/course";
import { downloadLog, useLog } from "../services/log";
import { cancelRun, retryNow, retryRun } from "../services/runs";
import { notify } from "../state/announce";
import { setTitle } from "../state/title";
import { RunAgain } from "./run";

const ExecutionDocument = graphql(
  `
  query ExecutionPage($id: ID!) {
    asOf
    serverTime
    execution(id: $id) {
      ...ExecutionRow
      traceback
      traceUrl
      value
      run {
        id
        state
        args
        group
        priority
        retries
        failures
        progress { done total message }
        submittedAt
        availableAt
        cancelRequestedAt
        submitter
        description
        retriedFrom { id }
        explain { sentence details until }
        finishedAt
        executions(first: 50, orderBy: [{ field: ID, direction: DESC }]) {
          nodes { ...ExecutionRow }
          pageInfo { hasNextPage }
        }
      }
    }
  }
`,
  [ExecutionRowFragment],
);

const NeighboursDocument = graphql(`
  query Neighbours($older: ExecutionFilter, $newer: ExecutionFilter) {
    older: executions(first: 1, filter: $older, orderBy: [{ field: ID, direction: DESC }]) { nodes { id } }
    newer: executions(first: 1, filter: $newer, orderBy: [{ field: ID, direction: ASC }]) { nodes { id } }
  }
`);

type Execution = NonNullable<ResultOf<typeof ExecutionDocument>["execution"]>;
interface State {
  readonly execution: Execution | null;
}

/** While it runs, its progress is that of the run. */
function withRunProgress(execution: Execution | null): Execution | null {
  return execution === null || execution.completedAt !== null || execution.run === null ? execution : { ...execution, progress: execution.run.progress };
}

export function ExecutionPage({ id }: { id: string }) {
  const { state, error, reload } = useLive(`execution/${id}`, {
    document: ExecutionDocument,
    variables: () => ({ id }),
    init: (data): State => ({ execution: withRunProgress(data.execution) }),
    outdates: (event, now) => event.runId !== null && event.runId === now.execution?.run?.id,
  });
  useEffect(() => setTitle(`#${id}`), [id]);
  if (state === null || state.execution === null) {
    return (
      <>
        <PageHead title={`#${id}`} />
        {error !== null ? (
          <ErrorBox error={error} retry={reload} />
        ) : state === null ? (
          <Skeleton rows={10} />
        ) : (
          <Empty title={`There is no execution #${id}`}>
            <p class="dim">It may have been pruned with the history.</p>
            <a class="button" href="/log">
              The whole log
            </a>
          </Empty>
        )}
      </>
    );
  }
  const { execution } = state;
  return (
    <>
      <ExecutionHead execution={execution} />
      {error !== null && <ErrorBox error={error} retry={reload} />}
      <div class={error === null && !frozen.value ? "" : "dimmed"}>
        <ExecutionBody execution={execution} />
      </div>
    </>
  );
}

function ExecutionBody({ execution }: { execution: Execution }) {
  const { run } = execution;
  const known = run?.executions.nodes ?? [];
  // Of very many attempts the newest are read, and the one that is looked at.
  const attempts = known.some(({ id }) => id === execution.id) ? known : [...known, execution];
  const log = useLog(execution.id);
  const download = (): void =>
    void downloadLog(execution.id).catch((error: unknown) => notify(`The log could not be read: ${error instanceof Error ? error.message : String(error)}`, { tone: "bad" }));
  return (
    <>
      <section class="panel" aria-label="Course">
        <CourseChart phases={run === null ? alone(execution) : courseOf(run, attempts, run.executions.pageInfo.hasNextPage)} current={execution.id} />
        {execution.completedAt === null && execution.progress !== null && (
          <div class="panel-body big-progress">
            <Progress progress={execution.progress} />
          </div>
        )}
      </section>
      <div class="execution-columns">
        <div>
          {execution.errorMessage !== null && <ErrorOf execution={execution} />}
          <Section title="Log">
            {log.error !== null && <p class="field-error panel-body">{log.error.message}</p>}
            <LogView buffer={log.buffer} running={execution.completedAt === null} onDownload={download} />
          </Section>
        </div>
        <div>
          <Section title="Attempts at the run">
            <Attempts attempts={attempts} current={execution.id} />
          </Section>
          <Section title="Facts">
            <ExecutionFacts execution={execution} />
          </Section>
          <Section title="Arguments">
            <div class="panel-body">
              {isEmptyObject(run?.args ?? {}) ? <p class="dim">None.</p> : <JsonView value={run?.args} label="Arguments" />}
            </div>
          </Section>
          <Section title="Result">
            <div class="panel-body">
              {execution.value === null ? <p class="dim">{execution.completedAt === null ? "It is not there yet." : "The job returned no value."}</p> : <JsonView value={execution.value} label="Result" />}
            </div>
          </Section>
        </div>
      </div>
    </>
  );
}

/** The course of an execution whose run is gone: its own. */
function alone(execution: Execution): readonly Phase<ExecutionRow>[] {
  return courseOf({ submittedAt: execution.startedAt, availableAt: execution.startedAt, finishedAt: execution.completedAt, state: executionStatus(execution) }, [execution]);
}

function ErrorOf({ execution }: { execution: Execution }) {
  return (
    <Section title={execution.errorType ?? "Error"}>
      <div class="panel-body">
        <p class="error-full">{execution.errorMessage}</p>
        {execution.traceback !== null && (
          <details class="traceback">
            <summary>Traceback</summary>
            <pre tabIndex={0}>{execution.traceback}</pre>
          </details>
        )}
      </div>
    </Section>
  );
}

function ExecutionFacts({ execution }: { execution: Execution }) {
  const { run } = execution;
  return (
    <Facts
      entries={[
        ["Job", <a href={paths.job(execution.jobName)}>{execution.jobName}</a>],
        ["Task", execution.taskName === null ? "–" : <a href={paths.task(execution.taskName)}>{execution.taskName}</a>],
        ["Run", run === null ? "–" : <a href={paths.run(run.id)}>{run.id}</a>],
        ["Trigger", words(execution.trigger)],
        ["Waited", execution.wait === null ? "–" : duration(execution.wait)],
        ["Took", execution.duration === null ? "–" : duration(execution.duration)],
        ["Records", execution.recordsProcessed === null ? "–" : integer(execution.recordsProcessed)],
        ["Node", execution.node],
        ["Group", run === null ? "–" : <a href={paths.group(run.group)}>{run.group}</a>],
        ["Priority", run === null ? "–" : words(run.priority)],
        ["Failures", run === null ? "–" : `${run.failures}, ${run.retries === 0 ? "no retries" : `up to ${plural(run.retries, "retry", "retries")}`}`],
        ["Submitted by", run?.submitter ?? "–"],
        ...(execution.traceUrl === null ? [] : ([["Trace", <a href={execution.traceUrl} rel="noreferrer" target="_blank">in your tracing system</a>]] as const)),
        ...(run?.retriedFrom == null ? [] : ([["Retry of", <a href={paths.run(run.retriedFrom.id)}>run {run.retriedFrom.id}</a>]] as const)),
      ]}
    />
  );
}

/** The executions of the same task before and after this one. */
function useNeighbours(execution: Execution): { older: string | null; newer: string | null } {
  const [found, setFound] = useState<{ older: string | null; newer: string | null }>({ older: null, newer: null });
  const { taskName, jobName, id } = execution;
  useEffect(() => {
    const controller = new AbortController();
    const same = taskName === null ? { jobName: { eq: jobName } } : { taskName: { eq: taskName } };
    request(NeighboursDocument, { older: { ...same, id: { lt: id } }, newer: { ...same, id: { gt: id } } }, controller.signal).then(
      (data) => setFound({ older: data.older.nodes[0]?.id ?? null, newer: data.newer.nodes[0]?.id ?? null }),
      (error: unknown) => {
        if (!controller.signal.aborted) notify(`The neighbours could not be found: ${error instanceof Error ? error.message : String(error)}`, { tone: "bad" });
      },
    );
    return () => controller.abort();
  }, [taskName, jobName, id]);
  return found;
}

/** A link to another execution; there is room for it even when there is none. */
function Neighbour({ id, title, children }: { id: string | null; title: string; children: ComponentChildren }) {
  if (id === null) {
    return (
      <span class="button" aria-disabled="true">
        {children}
      </span>
    );
  }
  return (
    <a class="button" href={paths.execution(id)} title={title}>
      {children}
    </a>
  );
}

const EXPLORE = `query Execution($id: ID!) {
  execution(id: $id) {
    id
    jobName
    outcome
    startedAt
    completedAt
    duration
    recordsProcessed
    errorMessage
    traceback
    run { id state args }
    logLines(first: 50) { lines { at level message } lastLine ended }
  }
}
`;

function ExecutionHead({ execution }: { execution: Execution }) {
  const { run } = execution;
  const [asking, setAsking] = useState(false);
  const { older, newer } = useNeighbours(execution);
  const can = runActions(run?.state ?? "SKIPPED");
  const explore = `/graphiql?${new URLSearchParams({ query: EXPLORE, variables: JSON.stringify({ id: execution.id }) }).toString()}`;
  return (
    <>
      <PageHead
        title={
          <>
            <span class="num">#{execution.id}</span> {execution.taskName ?? execution.jobName} <Status name={executionStatus(execution)} />
          </>
        }
      >
        <Neighbour id={older} title="The one before, of the same task">
          <Icon name="left" /> Previous
        </Neighbour>
        <Neighbour id={newer} title="The one after, of the same task">
          Next <Icon name="right" />
        </Neighbour>
        {run !== null && (
          <a class="button" href={paths.run(run.id)}>
            <Icon name="runs" /> Run {run.id}
          </a>
        )}
        {run !== null && can.cancel && (
          <Action class="button danger" disabled={run.cancelRequestedAt !== null} onClick={() => void cancelRun(run.id)}>
            <Icon name="stop" /> {run.cancelRequestedAt === null ? "Cancel" : "Asked to stop"}
          </Action>
        )}
        {run !== null && can.retryNow && (
          <Action class="button" onClick={() => void retryNow(run.id)}>
            <Icon name="retry" /> Retry now
          </Action>
        )}
        {run !== null && can.retry && (
          <>
            <Action class="button primary" onClick={() => void retryRun(run.id)}>
              <Icon name="retry" /> Run again
            </Action>
            <Action class="button" onClick={() => setAsking(true)}>
              Run again with…
            </Action>
          </>
        )}
        <a class="button" href={explore} title="Open this as a query in the explorer">
          <Icon name="explorer" /> Query
        </a>
      </PageHead>
      {asking && run !== null && <RunAgain run={{ id: run.id, jobName: execution.jobName, args: run.args }} onClose={() => setAsking(false)} />}
    </>
  );
}
