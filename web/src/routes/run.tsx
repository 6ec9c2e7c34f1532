import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Action } from "../components/action";
import { Attempts } from "../components/attempts";
import { ExplanationView } from "../components/explanation";
import { CourseChart } from "../components/course";
import { Empty, ErrorBox, Skeleton } from "../components/feedback";
import { Field, TextInput } from "../components/field";
import { Icon } from "../components/icon";
import { JsonView } from "../components/json-view";
import { Progress } from "../components/progress";
import { RunWithArgs } from "../components/run-with-args";
import { Labels } from "../components/labels";
import { PageHead, Section } from "../components/section";
import { Status } from "../components/status";
import { Steps } from "../components/steps";
import { Facts } from "../components/task-facts";
import { Time } from "../components/time";
import { ExecutionRowFragment, RunRowFragment } from "../graphql/fragments";
import { graphql, type ResultOf } from "../graphql/tada";
import { cappedPlural, plural, words } from "../lib/format";
import { paths } from "../lib/paths";
import { runActions } from "../lib/run-filter";
import { skipReason } from "../lib/skip-reasons";
import { labelsOf } from "../lib/labels";
import { duration } from "../lib/time";
import { frozen } from "../live/clock";
import { useLive } from "../live/use-live";
import { isEmptyObject, sameJson } from "../lib/args-schema";
import { courseOf } from "../model/course";
import { localInput, readTime } from "../model/task-form";
import { tryRetry } from "../services/previews";
import { cancelRun, retryNow, retryRun, setPriority, updateRun } from "../services/runs";
import { zone, zoneWord } from "../state/prefs";
import { navigate } from "../state/route";
import { setTitle } from "../state/title";

const RunDocument = graphql(
  `
  query RunPage($id: ID!) {
    asOf
    serverTime
    run(id: $id) {
      ...RunRow
      args
      result
      timeout
      retryDelay
      uniqueKey
      concurrencyKey
      maxConcurrent
      rateKey
      expiresAt
      skipReason
      flowPlace { flowId key }
      submitter
      cancelReason
      explain { code sentence details until run { id } }
      retriedFrom { id }
      task { name job { argsSchema } }
      executions(first: 50, orderBy: [{ field: ID, direction: DESC }]) {
        nodes { ...ExecutionRow }
        pageInfo { hasNextPage }
      }
    }
    retries: runs(first: 20, filter: { retriedFrom: { eq: $id } }, orderBy: [{ field: ID }]) { nodes { id state } }
  }
`,
  [RunRowFragment, ExecutionRowFragment],
);

const AheadDocument = graphql(`
  query RunsAhead($filter: RunFilter) {
    asOf
    runs(first: 1, filter: $filter) { totalCount }
  }
`);

const SchemaDocument = graphql(`
  query ArgsSchemaOfJob($name: String!) {
    asOf
    job(name: $name) { argsSchema }
  }
`);

type Data = ResultOf<typeof RunDocument>;
type Run = NonNullable<Data["run"]>;

interface State {
  readonly run: Run | null;
  readonly retries: Data["retries"]["nodes"];
}

/** A run: where it stands, why, and all that was tried. */
export function RunPage({ id }: { id: string }) {
  const { state, error, reload } = useLive(`run/${id}`, {
    document: RunDocument,
    variables: () => ({ id }),
    init: ({ run, retries }): State => ({ run, retries: retries.nodes }),
    // Why it waits changes with what others do, as long as it is not over.
    outdates: (event, now) => event.runId === id || (now.run?.finishedAt === null && now.run.state !== "RUNNING" && (event.kind === "EXECUTION_FINISHED" || event.kind === "GROUP_UPDATED" || event.kind.startsWith("NODE_S"))),
  });
  useEffect(() => setTitle(`Run ${id}`), [id]);
  if (state === null || state.run === null) {
    return (
      <>
        <PageHead title={`Run ${id}`} />
        {error !== null ? (
          <ErrorBox error={error} retry={reload} />
        ) : state === null ? (
          <Skeleton rows={10} />
        ) : (
          <Empty title={`There is no run ${id}`}>
            <p class="dim">It may have been pruned with the history.</p>
            <a class="button" href="/runs">
              All runs
            </a>
          </Empty>
        )}
      </>
    );
  }
  return (
    <>
      <RunHead run={state.run} />
      {error !== null && <ErrorBox error={error} retry={reload} />}
      <div class={error === null && !frozen.value ? "" : "dimmed"}>
        <RunBody run={state.run} retries={state.retries} />
      </div>
    </>
  );
}

function RunBody({ run, retries }: { run: Run; retries: State["retries"] }) {
  const attempts = run.executions.nodes;
  return (
    <>
      <section class="panel" aria-label="Course">
        <CourseChart phases={courseOf(run, attempts, run.executions.pageInfo.hasNextPage)} />
        {run.state === "RUNNING" && run.progress !== null && (
          <div class="panel-body big-progress">
            <Progress progress={run.progress} />
          </div>
        )}
      </section>
      <div class="execution-columns">
        <div>
          <Section title={run.finishedAt === null ? "What happens next" : "What became of it"}>
            <div class="panel-body">
              <ExplanationView explain={run.explain} />
              {run.explain.run !== null && run.explain.run.id !== run.id && (
                <p>
                  See <a href={paths.run(run.explain.run.id)}>run {run.explain.run.id}</a>.
                </p>
              )}
              {(run.state === "WAITING" || run.state === "STUCK") && <Place run={run} />}
            </div>
          </Section>
          <Steps run={run} />
          {run.error !== null && (
            <Section title="Error">
              <div class="panel-body">
                <p class="error-full">{run.error}</p>
              </div>
            </Section>
          )}
          <Section title="Attempts" aside={run.executions.pageInfo.hasNextPage && <a href={paths.logOfRun(run.id)}>All in the log</a>}>
            {attempts.length === 0 ? <Empty title="It has not started yet" /> : <Attempts attempts={attempts} current="" />}
          </Section>
        </div>
        <div>
          <Section title="Facts">
            <RunFacts run={run} retries={retries} />
          </Section>
          <Section title="Arguments">
            <div class="panel-body">{isEmptyObject(run.args) ? <p class="dim">None.</p> : <JsonView value={run.args} label="Arguments" />}</div>
          </Section>
          <Section title="Result">
            <div class="panel-body">
              {run.result === null ? <p class="dim">{run.finishedAt === null ? "It is not there yet." : "The job returned no value."}</p> : <JsonView value={run.result} label="Result" />}
            </div>
          </Section>
        </div>
      </div>
    </>
  );
}

/** How many runs of its group come before it: those of its priority that were due earlier. Fairness between groups and priorities decides the rest. */
function Place({ run }: { run: Run }) {
  const { state } = useLive(`ahead/${run.id}/${run.availableAt}/${run.priority}`, {
    document: AheadDocument,
    variables: () => ({
      filter: {
        state: { in: ["WAITING" as const, "STUCK" as const] },
        group: { eq: run.group },
        priority: { eq: run.priority },
        or: [{ availableAt: { lt: run.availableAt } }, { availableAt: { eq: run.availableAt }, id: { lt: run.id } }],
      },
    }),
    init: (data) => data.runs.totalCount,
    outdates: (event) => event.kind.startsWith("RUN_"),
    every: 1_500,
  });
  if (state === null) return null;
  return (
    <p class="dim">
      {state === 0 ? "No run" : cappedPlural(state, "run")} of priority {words(run.priority)} {state > 1 ? "are" : "is"} before it in group <a href={paths.group(run.group)}>{run.group}</a>.
    </p>
  );
}

function RunFacts({ run, retries }: { run: Run; retries: State["retries"] }) {
  return (
    <Facts
      entries={[
        ["Job", <a href={paths.job(run.jobName)}>{run.jobName}</a>],
        ["Task", run.taskName === null ? "–" : <a href={paths.task(run.taskName)}>{run.taskName}</a>],
        ["Group", <a href={paths.group(run.group)}>{run.group}</a>],
        ["Priority", words(run.priority)],
        ["Trigger", words(run.trigger)],
        ["Nominal time", run.scheduledFor === null ? "–" : <Time at={run.scheduledFor} form="full" />],
        ["Failures", `${run.failures}, ${run.retries === 0 ? "no retries" : `up to ${plural(run.retries, "retry", "retries")}`}`],
        ["Retry delay", duration(run.retryDelay)],
        ["Time box", run.timeout === null ? "none" : duration(run.timeout)],
        ["Node", run.node ?? "–"],
        ["Unique key", run.uniqueKey ?? "–"],
        ...(run.flowPlace === null ? [] : ([["Flow", <span><a href={paths.flow(run.flowPlace.flowId)}>flow {run.flowPlace.flowId}</a>, {run.flowPlace.key}</span>]] as const)),
        ["Submitted by", run.submitter ?? "–"],
        ...(labelsOf(run.labels).length === 0 ? [] : ([["Labels", <Labels labels={run.labels} />]] as const)),
        ...(run.skipReason === null ? [] : ([["Skipped since", skipReason(run.skipReason)]] as const)),
        ...(run.expiresAt === null ? [] : ([["Starts by", <Time at={run.expiresAt} form="full" />]] as const)),
        ...(run.concurrencyKey === null ? [] : ([["Concurrency key", `${run.concurrencyKey}, at most ${run.maxConcurrent ?? 1} at once`]] as const)),
        ...(run.rateKey === null ? [] : ([["Rate key", run.rateKey === "" ? "that of the job" : run.rateKey]] as const)),
        ...(run.description === "" ? [] : ([["Description", run.description]] as const)),
        ...(run.cancelReason === null ? [] : ([["Cancelled for", run.cancelReason]] as const)),
        ...(run.retriedFrom === null ? [] : ([["Retry of", <a href={paths.run(run.retriedFrom.id)}>run {run.retriedFrom.id}</a>]] as const)),
        ...(retries.length === 0
          ? []
          : ([
              [
                "Retried as",
                retries.map((retry, index) => (
                  <span key={retry.id}>
                    {index > 0 && ", "}
                    <a href={paths.run(retry.id)}>run {retry.id}</a>
                  </span>
                )),
              ],
            ] as const)),
      ]}
    />
  );
}

function RunHead({ run }: { run: Run }) {
  const [asking, setAsking] = useState<"again" | "edit" | null>(null);
  const can = runActions(run.state);
  const newest = run.executions.nodes[0];
  return (
    <>
      <PageHead
        title={
          <>
            Run <span class="num">{run.id}</span> {run.taskName ?? run.jobName} <Status name={run.state} />
          </>
        }
      >
        {newest !== undefined && (
          <a class="button" href={paths.execution(newest.id)}>
            <Icon name="log" /> Log
          </a>
        )}
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
        {can.cancel && (
          <Action class="button danger" disabled={run.cancelRequestedAt !== null} onClick={() => void cancelRun(run.id)}>
            <Icon name="stop" /> {run.cancelRequestedAt === null ? "Cancel" : "Asked to stop"}
          </Action>
        )}
      </PageHead>
      {asking === "again" && <RunAgain run={run} onClose={() => setAsking(null)} />}
      {asking === "edit" && <EditRun run={run} onClose={() => setAsking(null)} />}
    </>
  );
}

/** Asks when a run that waits shall be due, and for other arguments as long as it has not begun. */
function EditRun({ run, onClose }: { run: Run; onClose: () => void }) {
  // The seconds are enough to be edited; the time is sent only if they were.
  const [before] = useState(() => localInput(run.availableAt, zone.value));
  const [at, setAt] = useState(before);
  return (
    <WithSchema jobName={run.jobName}>
      {(schema) => (
        <RunWithArgs
          title={`Change run ${run.id}`}
          action="Save"
          args={run.args}
          schema={schema}
          fixed={run.attempt > 0 ? "It has begun before, and keeps the arguments of its executions." : undefined}
          onClose={onClose}
          onRun={(args) => updateRun({ id: run.id, ...(at !== before && { runAt: at === "" ? null : readTime(at, zone.value) }), ...(run.attempt === 0 && !sameJson(args, run.args) && { args }) })}
        >
          <Field label={`Not before (${zoneWord()})`} hint="Empty = now">
            <TextInput value={at} onChange={setAt} type="datetime-local" />
          </Field>
        </RunWithArgs>
      )}
    </WithSchema>
  );
}

interface Repeatable {
  readonly id: string;
  readonly jobName: string;
  readonly args: unknown;
}

/** Asks for other arguments, and leads to the run that is made. */
export function RunAgain({ run, onClose }: { run: Repeatable; onClose: () => void }) {
  return (
    <WithSchema jobName={run.jobName}>
      {(schema) => (
        <RunWithArgs
          title={`Run ${run.jobName} again`}
          action="Run again"
          args={run.args}
          schema={schema}
          onClose={onClose}
          onRun={async (args) => {
            const made = await retryRun(run.id, args);
            if (made !== null) navigate(paths.run(made));
            return made !== null;
          }}
          onTry={(args) => tryRetry(run.id, args)}
        />
      )}
    </WithSchema>
  );
}

/** Shows what needs the schema of a job's arguments, once it is there. */
function WithSchema({ jobName, children }: { jobName: string; children: (schema: unknown) => ComponentChildren }) {
  const { state, error, reload } = useLive(`schema/${jobName}`, {
    document: SchemaDocument,
    variables: () => ({ name: jobName }),
    init: (data) => ({ schema: data.job?.argsSchema ?? null }),
  });
  if (error !== null) return <ErrorBox error={error} retry={reload} />;
  return state === null ? null : <>{children(state.schema)}</>;
}
