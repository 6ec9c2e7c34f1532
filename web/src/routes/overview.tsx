import { useEffect } from "preact/hooks";
import { Attention, AttentionFragment, attentionVariables } from "../components/attention";
import { Banner, ConditionFragment } from "../components/banner";
import { ExecutionTable } from "../components/execution-table";
import { FailureGroups, type FailureGroupRow } from "../components/failure-groups";
import { ErrorBox, Skeleton } from "../components/feedback";
import { LivePart } from "../components/live-part";
import { NEXT_UP_VARIABLES, NextUp, NextUpFragment } from "../components/next-up";
import { RunningNow } from "../components/running-now";
import { PageHead, Section } from "../components/section";
import { Tiles } from "../components/tiles";
import { usePhone } from "../components/use-phone";
import { type ExecutionRow, ExecutionRowFragment, RunRowFragment } from "../graphql/fragments";
import { TimelinePart } from "../features/timeline/part";
import { graphql, type ResultOf } from "../graphql/tada";
import { isFailure } from "../lib/log-filter";
import { useLive } from "../live/use-live";
import { type OverviewState, reduceOverview } from "../model/overview";
import { health, TilesFragment, type TilesData } from "../state/health";
import { setTitle } from "../state/title";
import { OverviewQueue, QueueFragment } from "./overview-queue";

/** Which failures belong together the server decides; asked again, alone, when something fails. */
const FailuresFragment = graphql(`
  fragment OverviewFailures on Query {
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

const FailuresDocument = graphql(`query OverviewFailuresAlone { asOf ...OverviewFailures }`, [FailuresFragment]);

/** What the page shows, with the first answers of those parts that then ask alone, each when its own things change. */
const OverviewDocument = graphql(
  `
  query OverviewPage($shown: Int!, $late: Boolean!, $people: RunFilter, $next: Int!, $apart: Float!) {
    asOf
    serverTime
    overview { ...Tiles }
    runs(first: 50, filter: { state: { eq: RUNNING } }) { nodes { ...RunRow } }
    executions(first: 15, orderBy: [{ field: ID, direction: DESC }]) { nodes { ...ExecutionRow } }
    ...OverviewFailures
    ...Condition
    ...Attention
    ...OverviewQueue
    ...NextUp
  }
`,
  [TilesFragment, RunRowFragment, ExecutionRowFragment, FailuresFragment, ConditionFragment, AttentionFragment, QueueFragment, NextUpFragment],
);

const FAILURE_GROUPS = 6;

function useFailures(first: ResultOf<typeof FailuresDocument> | null) {
  return useLive("overview/failures", {
    document: FailuresDocument,
    first,
    variables: () => ({}),
    init: (data): readonly FailureGroupRow[] => data.failureGroups.slice(0, FAILURE_GROUPS),
    outdates: ({ kind, state: outcome }) => kind === "EXECUTION_FINISHED" && outcome !== null && isFailure(outcome),
    every: 1_500,
  });
}

function LastFailures({ first }: { first: ResultOf<typeof FailuresDocument> | null }) {
  const failures = useFailures(first);
  return (
    <Section title="Last failures" aside={<a href="/log?outcome=failures">All failures</a>}>
      <LivePart live={failures} rows={2}>
        {(groups) => <FailureGroups groups={groups} />}
      </LivePart>
    </Section>
  );
}

/** A card each would be half of the page on a phone: there they are unfolded by a press. */
function Newest({ executions }: { executions: readonly ExecutionRow[] }) {
  const phone = usePhone();
  const table = <ExecutionTable executions={executions} />;
  const all = <a href="/log">Whole log</a>;
  if (!phone) {
    return (
      <Section title="Newest executions" aside={all}>
        {table}
      </Section>
    );
  }
  return (
    <section class="panel newest" aria-label="Newest executions">
      <details>
        <summary>
          <h2>Newest executions</h2>
        </summary>
        {table}
      </details>
      {all}
    </section>
  );
}

interface State extends OverviewState {
  readonly tiles: TilesData;
}

export function Overview() {
  const { state, error, reload, answer } = useLive("overview", {
    document: OverviewDocument,
    variables: () => ({ ...attentionVariables(), ...NEXT_UP_VARIABLES }),
    parts: ["runs", "executions"],
    init: (data): State => ({ tiles: data.overview, runs: data.runs.nodes, recent: data.executions.nodes }),
    reduce: (before, event) => {
      const after = reduceOverview(before, event);
      return after === before ? before : { ...before, ...after };
    },
  });
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
          <Banner first={answer}>{(worst) => <Attention worse={worst} first={answer} />}</Banner>
          {tiles !== null && <Tiles tiles={tiles} />}
          <div class="columns overview-columns">
            <div class="stack">
              <RunningNow runs={state.runs} />
              <LastFailures first={answer} />
              <OverviewQueue first={answer} />
            </div>
            <NextUp first={answer} />
          </div>
          <TimelinePart />
          <Newest executions={state.recent} />
        </div>
      )}
    </>
  );
}
