import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { type ExecutionRow, ExecutionRowFragment } from "../../api/fragments";
import { graphql } from "../../api/tada";
import { isEmptyObject } from "../../lib/json";
import { paths } from "../../lib/paths";
import { frozen } from "../../live/clock";
import { setTitle } from "../../live/title";
import { useLive } from "../../live/use-live";
import { ExplanationView } from "../../parts/explanation";
import { searchParams } from "../../state/route";
import { Empty, ErrorBox, Skeleton } from "../../ui/feedback";
import { Icon } from "../../ui/icon";
import { JsonView } from "../../ui/json-view";
import { LivePart } from "../../ui/live-part";
import { Progress } from "../../ui/progress";
import { PageHead, Section } from "../../ui/section";
import { AttemptPanel } from "./attempt";
import { readOther } from "./compare";
import { CompareChoice, Comparison } from "./compare-view";
import { Course } from "./course-chart";
import { type Retries, type RunDetail, RunDocument } from "./document";
import { Place, RunFacts } from "./facts";
import { RunHead } from "./head";

interface State {
  readonly run: RunDetail | null;
  readonly retries: Retries;
}

/** A run: where it stands, why, all that was tried, and the log of one attempt. */
export function RunPage({ id }: { id: string }) {
  const { state, error, reload } = useLive(`run/${id}`, {
    document: RunDocument,
    variables: () => ({ id }),
    init: ({ run, retries }): State => ({ run, retries: retries.nodes }),
    // Why it waits changes with what others do, as long as it is not over.
    outdates: (event, now) =>
      event.runId === id ||
      (now.run?.finishedAt === null &&
        now.run.state !== "RUNNING" &&
        (event.kind === "EXECUTION_FINISHED" || event.kind === "GROUP_UPDATED" || event.kind.startsWith("NODE_S"))),
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
      <div class={error === null && !frozen.value ? "run-page" : "run-page dimmed"}>
        <RunBody run={state.run} retries={state.retries} />
      </div>
    </>
  );
}

/** The attempt that the address names, else the newest one; null before the first. */
function chosenAttempt(run: RunDetail): number | null {
  const named = Number(searchParams.value.get("attempt") ?? 0);
  return Number.isInteger(named) && named > 0 ? named : (run.executions.nodes[0]?.attempt ?? null);
}

function RunBody({ run, retries }: { run: RunDetail; retries: Retries }) {
  const current = chosenAttempt(run);
  const other = readOther(searchParams.value.get("with"));
  return (
    <>
      {other !== null && current !== null && (
        <Comparison key={`${current} ${other.run} ${other.attempt}`} run={run} attempt={current} other={other} />
      )}
      <div class="run-columns">
        <div class="run-course">
          <Course run={run} current={current} />
          {run.state === "RUNNING" && run.progress !== null && run.executions.nodes[0]?.attempt !== current && (
            <div class="panel panel-body big-progress">
              <Progress progress={run.progress} />
            </div>
          )}
        </div>
        <div class="run-log">
          {current === null ? (
            <Section title="Log">
              <Empty title="It has not started yet" />
            </Section>
          ) : (
            <Attempt run={run} attempt={current} />
          )}
        </div>
        <div class="run-about">
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
          {run.error !== null && run.executions.nodes.length === 0 && (
            <Section title="Error">
              <div class="panel-body">
                <p class="error-full">{run.error}</p>
              </div>
            </Section>
          )}
          <Folding title="Arguments">
            {isEmptyObject(run.args) ? <p class="dim">None.</p> : <JsonView value={run.args} label="Arguments" />}
          </Folding>
          <Folding title="Result">
            {run.result === null ? (
              <p class="dim">{run.finishedAt === null ? "It is not there yet." : "The job returned no value."}</p>
            ) : (
              <JsonView value={run.result} label="Result" />
            )}
          </Folding>
          <Section title="Facts">
            <RunFacts run={run} retries={retries} />
          </Section>
        </div>
      </div>
    </>
  );
}

/** A panel that can be shut. */
function Folding({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="panel" aria-label={title}>
      <details class="folding" open>
        <summary class="panel-head">
          <h2>{title}</h2>
          <Icon name="down" />
        </summary>
        <div class="panel-body">{children}</div>
      </details>
    </section>
  );
}

function Attempt({ run, attempt }: { run: RunDetail; attempt: number }) {
  const known = run.executions.nodes.find((execution) => execution.attempt === attempt);
  // The progress of an attempt under way is that of the run.
  const execution = known !== undefined && known.completedAt === null ? { ...known, progress: run.progress } : known;
  return execution === undefined ? (
    <OlderAttempt run={run} attempt={attempt} />
  ) : (
    <Shown run={run} execution={execution} />
  );
}

function Shown({ run, execution }: { run: RunDetail; execution: ExecutionRow }) {
  return (
    <AttemptPanel
      key={execution.id}
      execution={execution}
      aside={<CompareChoice run={run} attempt={execution.attempt} />}
    />
  );
}

const OlderDocument = graphql(
  `
  query OlderAttempt($id: ID!, $filter: ExecutionFilter) {
    asOf
    run(id: $id) { executions(first: 1, filter: $filter) { nodes { ...ExecutionRow isRecovered } } }
  }
`,
  [ExecutionRowFragment],
);

/** Of very many attempts the newest are read with the run, and the others when one looks at them. */
function OlderAttempt({ run, attempt }: { run: RunDetail; attempt: number }) {
  const live = useLive(`run/${run.id}/attempt/${attempt}`, {
    document: OlderDocument,
    variables: () => ({ id: run.id, filter: { attempt: { eq: attempt } } }),
    init: (data) => ({ execution: data.run?.executions.nodes[0] ?? null }),
    outdates: (event) => event.runId === run.id && event.kind === "EXECUTION_STARTED",
  });
  return (
    <LivePart live={live} rows={6}>
      {({ execution }) =>
        execution === null ? (
          <Section title={`Attempt ${attempt}`}>
            <Empty title={`Run ${run.id} has no attempt ${attempt}`}>
              <a class="button" href={paths.run(run.id)}>
                The newest attempt
              </a>
            </Empty>
          </Section>
        ) : (
          <Shown run={run} execution={execution} />
        )
      }
    </LivePart>
  );
}
