import { useEffect } from "preact/hooks";
import { ExecutionTable } from "../components/execution-table";
import { FailureGroups, type FailureGroupRow } from "../components/failure-groups";
import { ErrorBox, Skeleton } from "../components/feedback";
import { NextTasks } from "../components/next-tasks";
import { RunningNow } from "../components/running-now";
import { PageHead, Section } from "../components/section";
import { Tiles } from "../components/tiles";
import { ExecutionRowFragment, RunRowFragment, TaskRowFragment } from "../graphql/fragments";
import { graphql } from "../graphql/tada";
import { FAILURES } from "../lib/log-filter";
import { useLive } from "../live/use-live";
import { type OverviewState, reduceOverview } from "../model/overview";
import { health, TilesFragment, type TilesData } from "../state/health";
import { setTitle } from "../state/title";
import { OverviewQueue } from "./overview-queue";
import { OverviewTimeline } from "./overview-timeline";

const OverviewDocument = graphql(
  `
  query OverviewPage {
    asOf
    serverTime
    overview { ...Tiles }
    tasks(first: 100, orderBy: [{ field: NEXT_EXECUTION }]) { nodes { ...TaskRow } }
    runs(first: 50, filter: { state: { eq: RUNNING } }) { nodes { ...RunRow } }
    executions(first: 15, orderBy: [{ field: ID, direction: DESC }]) { nodes { ...ExecutionRow } }
  }
`,
  [TilesFragment, TaskRowFragment, RunRowFragment, ExecutionRowFragment],
);

/** Which failures belong together the server decides; a small question of its own, asked again when something fails. */
const FailuresDocument = graphql(`
  query OverviewFailures {
    failureGroups(first: 6) {
      jobName
      errorType
      message
      count
      first
      last
      execution { id }
    }
  }
`);

function useFailures(): readonly FailureGroupRow[] {
  const { state } = useLive("overview/failures", {
    document: FailuresDocument,
    variables: {},
    init: (data): readonly FailureGroupRow[] => data.failureGroups,
    outdates: ({ execution }) => execution !== null && execution.outcome !== null && FAILURES.includes(execution.outcome),
    every: 2_000,
  });
  return state ?? [];
}

interface State extends OverviewState {
  readonly tiles: TilesData;
}

export function Overview() {
  const { state, error, reload, patch } = useLive("overview", {
    document: OverviewDocument,
    variables: {},
    init: (data): State => ({
      tiles: data.overview,
      tasks: data.tasks.nodes,
      runs: data.runs.nodes,
      recent: data.executions.nodes,
    }),
    reduce: (before, event) => {
      const after = reduceOverview(before, event);
      return after === before ? before : { ...before, ...after };
    },
  });
  const failures = useFailures();
  const tiles = health.value ?? state?.tiles ?? null;
  useEffect(() => setTitle("Overview"), []);
  return (
    <>
      <PageHead title="Overview" />
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {state === null ? (
        error === null && <Skeleton rows={8} />
      ) : (
        <div class={error === null ? "overview" : "overview dimmed"}>
          {tiles !== null && <Tiles tiles={tiles} />}
          <div class="columns overview-columns">
            <div class="stack">
              <RunningNow runs={state.runs} />
              <Section title="Last failures" aside={<a href="/log?outcome=failures">All failures</a>}>
                <FailureGroups groups={failures} />
              </Section>
              <OverviewQueue />
            </div>
            <NextTasks
              tasks={state.tasks}
              patchTask={(name, change) =>
                patch((before) => ({ ...before, tasks: before.tasks.map((task) => (task.name === name ? { ...task, ...change } : task)) }))
              }
              reload={reload}
            />
          </div>
          <OverviewTimeline />
          <Section title="Newest executions" aside={<a href="/log">Whole log</a>}>
            <ExecutionTable executions={state.recent} />
          </Section>
        </div>
      )}
    </>
  );
}
