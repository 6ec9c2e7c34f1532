import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Attempts } from "../components/attempts";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { Icon } from "../components/icon";
import { JsonView } from "../components/json-view";
import { LifeLine } from "../components/life-line";
import { LogView } from "../components/log-view";
import { Progress } from "../components/progress";
import { RunWithArgs } from "../components/run-with-args";
import { PageHead, Section } from "../components/section";
import { Status } from "../components/status";
import { Facts } from "../components/task-facts";
import { request } from "../graphql/client";
import { ExecutionRowFragment, type LiveEvent } from "../graphql/fragments";
import { graphql, type ResultOf } from "../graphql/tada";
import { integer, plural, words } from "../lib/format";
import { paths } from "../lib/paths";
import { runActions } from "../lib/run-filter";
import { executionStatus, statusView } from "../lib/status";
import { duration } from "../lib/time";
import { useLive } from "../live/use-live";
import { replace } from "../model/rows";
import { downloadLog, useLog } from "../services/log";
import { cancelRun, retryNow, retryRun } from "../services/runs";
import { notify } from "../state/announce";
import { navigate } from "../state/route";
import { setTitle } from "../state/title";

const ExecutionDocument = graphql(
  `
  query ExecutionPage($id: ID!) {
    asOf
    serverTime
    execution(id: $id) {
      ...ExecutionRow
      traceback
      value
      task { name job { argsSchema } }
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
        executions(first: 50) { nodes { ...ExecutionRow } }
      }
    }
  }
`,
  [ExecutionRowFragment],
);

const NeighboursDocument = graphql(`
  query Neighbours($older: ExecutionFilter, $newer: ExecutionFilter) {
    older: executions(first: 1, filter: $older, orderBy: [{ field: STARTED_AT, direction: DESC }]) { nodes { id } }
    newer: executions(first: 1, filter: $newer, orderBy: [{ field: STARTED_AT, direction: ASC }]) { nodes { id } }
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

function reduceExecution(state: State, event: LiveEvent, id: string): State {
  const { execution } = state;
  if (execution === null || execution.run === null || event.runId !== execution.run.id) return state;
  const mine = event.execution !== null && event.executionId === id ? { ...execution, ...event.execution, run: execution.run } : execution;
  const attempts = event.execution === null ? execution.run.executions.nodes : [...replace(execution.run.executions.nodes, event.execution)];
  const progress = event.run !== null && mine.completedAt === null ? event.run.progress : mine.progress;
  const run = { ...execution.run, ...(event.run === null ? {} : { state: event.run.state, cancelRequestedAt: event.run.cancelRequestedAt }), executions: { nodes: attempts } };
  return { execution: { ...mine, progress, run } };
}

export function ExecutionPage({ id }: { id: string }) {
  const { state, error, reload } = useLive(`execution/${id}`, {
    document: ExecutionDocument,
    variables: { id },
    init: (data): State => ({ execution: withRunProgress(data.execution) }),
    reduce: (before, event) => reduceExecution(before, event, id),
    outdates: (event, now) => event.runId !== null && event.runId === now.execution?.run?.id && event.kind !== "RUN_UPDATED",
  });
  useEffect(() => setTitle(`#${id}`), [id]);
  if (state === null) return error === null ? <Skeleton rows={10} /> : <ErrorBox error={error} retry={reload} />;
  if (state.execution === null) {
    return (
      <Empty title={`There is no execution #${id}`}>
        <p class="dim">It may have been pruned with the history.</p>
        <a class="button" href="/log">
          The whole log
        </a>
      </Empty>
    );
  }
  const { execution } = state;
  return (
    <>
      <ExecutionHead execution={execution} />
      {error !== null && <ErrorBox error={error} retry={reload} />}
      <ExecutionBody execution={execution} />
    </>
  );
}

function ExecutionBody({ execution }: { execution: Execution }) {
  const { run } = execution;
  const log = useLog(execution.id);
  const download = (): void =>
    void downloadLog(execution.id).catch((error: unknown) => notify(`The log could not be read: ${error instanceof Error ? error.message : String(error)}`, { tone: "bad" }));
  return (
    <>
      <section class="panel" aria-label="Course">
        <LifeLine
          submittedAt={run?.submittedAt ?? execution.startedAt}
          availableAt={execution.attempt === 1 ? (run?.availableAt ?? null) : null}
          startedAt={execution.startedAt}
          completedAt={execution.completedAt}
          outcome={statusView(executionStatus(execution)).word}
        />
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
            <Attempts attempts={run?.executions.nodes ?? [execution]} current={execution.id} />
          </Section>
          <Section title="Facts">
            <ExecutionFacts execution={execution} />
          </Section>
          <Section title="Arguments">
            <div class="panel-body">
              <JsonView value={run?.args ?? {}} label="Arguments" />
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
        ["Run", run === null ? "–" : <a href={paths.logOfRun(run.id)}>{run.id}</a>],
        ["Trigger", words(execution.trigger)],
        ["Waited", execution.wait === null ? "–" : duration(execution.wait)],
        ["Took", execution.duration === null ? "–" : duration(execution.duration)],
        ["Records", execution.recordsProcessed === null ? "–" : integer(execution.recordsProcessed)],
        ["Node", execution.node],
        ["Group", run === null ? "–" : <a href={paths.group(run.group)}>{run.group}</a>],
        ["Priority", run === null ? "–" : words(run.priority)],
        ["Failures", run === null ? "–" : `${run.failures}, ${run.retries === 0 ? "no retries" : `up to ${plural(run.retries, "retry", "retries")}`}`],
        ["Submitted by", run?.submitter ?? "–"],
        ...(run?.retriedFrom == null ? [] : ([["Retry of", <a href={paths.logOfRun(run.retriedFrom.id)}>run {run.retriedFrom.id}</a>]] as const)),
      ]}
    />
  );
}

/** The executions of the same task before and after this one. */
function useNeighbours(execution: Execution): { older: string | null; newer: string | null } {
  const [found, setFound] = useState<{ older: string | null; newer: string | null }>({ older: null, newer: null });
  const { taskName, jobName, startedAt } = execution;
  useEffect(() => {
    const controller = new AbortController();
    const same = taskName === null ? { jobName: { eq: jobName } } : { taskName: { eq: taskName } };
    request(NeighboursDocument, { older: { ...same, startedAt: { lt: startedAt } }, newer: { ...same, startedAt: { gt: startedAt } } }, controller.signal).then(
      (data) => setFound({ older: data.older.nodes[0]?.id ?? null, newer: data.newer.nodes[0]?.id ?? null }),
      (error: unknown) => {
        if (!controller.signal.aborted) notify(`The neighbours could not be found: ${error instanceof Error ? error.message : String(error)}`, { tone: "bad" });
      },
    );
    return () => controller.abort();
  }, [taskName, jobName, startedAt]);
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
        {run !== null && can.cancel && (
          <button type="button" class="button danger" disabled={run.cancelRequestedAt !== null} onClick={() => void cancelRun(run.id)}>
            <Icon name="stop" /> {run.cancelRequestedAt === null ? "Cancel" : "Asked to stop"}
          </button>
        )}
        {run !== null && can.retryNow && (
          <button type="button" class="button" onClick={() => void retryNow(run.id)}>
            <Icon name="retry" /> Retry now
          </button>
        )}
        {run !== null && can.retry && (
          <>
            <button type="button" class="button primary" onClick={() => void retryRun(run.id)}>
              <Icon name="retry" /> Run again
            </button>
            <button type="button" class="button" onClick={() => setAsking(true)}>
              Run again with…
            </button>
          </>
        )}
        <a class="button" href={explore} title="Open this as a query in the explorer">
          <Icon name="explorer" /> Query
        </a>
      </PageHead>
      {asking && run !== null && (
        <RunWithArgs
          title={`Run ${execution.jobName} again`}
          action="Run again"
          args={run.args}
          schema={execution.task?.job?.argsSchema}
          onClose={() => setAsking(false)}
          onRun={async (args) => {
            const made = await retryRun(run.id, args);
            if (made !== null) navigate(paths.logOfRun(made));
            return made !== null;
          }}
        />
      )}
    </>
  );
}
