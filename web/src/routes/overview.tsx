import { useEffect } from "preact/hooks";
import { Attention } from "../components/attention";
import { Banner } from "../components/banner";
import { ExecutionTable } from "../components/execution-table";
import { FailureGroups, type FailureGroupRow } from "../components/failure-groups";
import { ErrorBox, Skeleton } from "../components/feedback";
import { LivePart } from "../components/live-part";
import { NextUp } from "../components/next-up";
import { RunningNow } from "../components/running-now";
import { PageHead, Section } from "../components/section";
import { Tiles } from "../components/tiles";
import { ExecutionRowFragment, RunRowFragment } from "../graphql/fragments";
import { TimelinePart } from "../features/timeline/part";
import { graphql } from "../graphql/tada";
import { isFailure } from "../lib/log-filter";
import { useLive } from "../live/use-live";
import { type OverviewState, reduceOverview } from "../model/overview";
import { health, TilesFragment, type TilesData } from "../state/health";
import { setTitle } from "../state/title";
import { OverviewQueue } from "./overview-queue";

const OverviewDocument = graphql(
  `
  query OverviewPage {
    asOf
    serverTime
    overview { ...Tiles }
    runs(first: 50, filter: { state: { eq: RUNNING } }) { nodes { ...RunRow } }
    executions(first: 15, orderBy: [{ field: ID, direction: DESC }]) { nodes { ...ExecutionRow } }
  }
`,
  [TilesFragment, RunRowFragment, ExecutionRowFragment],
);

/** Which failures belong together the server decides; a small question of its own, asked again when something fails. */
const FailuresDocument = graphql(`
  query OverviewFailures {
    asOf
    failureGroups(first: 20) {
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

const FAILURE_GROUPS = 6;

function useFailures() {
  return useLive("overview/failures", {
    document: FailuresDocument,
    variables: () => ({}),
    init: (data): readonly FailureGroupRow[] => data.failureGroups.slice(0, FAILURE_GROUPS),
    outdates: ({ kind, state: outcome }) => kind === "EXECUTION_FINISHED" && outcome !== null && isFailure(outcome),
    every: 1_500,
  });
}

interface State extends OverviewState {
  readonly tiles: TilesData;
}

export function Overview() {
  const { state, error, reload } = useLive("overview", {
    document: OverviewDocument,
    variables: () => ({}),
    parts: ["runs", "executions"],
    init: (data): State => ({ tiles: data.overview, runs: data.runs.nodes, recent: data.executions.nodes }),
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
          <Banner>{(worst) => <Attention worse={worst} />}</Banner>
          {tiles !== null && <Tiles tiles={tiles} />}
          <div class="columns overview-columns">
            <div class="stack">
              <RunningNow runs={state.runs} />
              <Section title="Last failures" aside={<a href="/log?outcome=failures">All failures</a>}>
                <LivePart live={failures} rows={2}>
                  {(groups) => <FailureGroups groups={groups} />}
                </LivePart>
              </Section>
              <OverviewQueue />
            </div>
            <NextUp />
          </div>
          <TimelinePart />
          <Section title="Newest executions" aside={<a href="/log">Whole log</a>}>
            <ExecutionTable executions={state.recent} />
          </Section>
        </div>
      )}
    </>
  );
}
