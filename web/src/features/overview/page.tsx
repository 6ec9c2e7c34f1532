import { useEffect } from "preact/hooks";
import { type ExecutionRow, ExecutionRowFragment, RunRowFragment } from "../../api/fragments";
import { graphql, type ResultOf } from "../../api/tada";
import { serverNow } from "../../live/clock";
import { health, type TilesData, TilesFragment } from "../../live/health";
import { setTitle } from "../../live/title";
import { useLive } from "../../live/use-live";
import { markEnds } from "../../model/failures";
import { isFailure } from "../../model/log-filter";
import { ExecutionTable } from "../../parts/execution-table";
import { FailureGroupFragment, type FailureGroupRow, FailureGroups } from "../../parts/failure-groups";
import { ErrorBox, Skeleton } from "../../ui/feedback";
import { LivePart } from "../../ui/live-part";
import { PageHead, Section } from "../../ui/section";
import { usePhone } from "../../ui/use-phone";
import { TimelinePart } from "../timeline/part";
import { Attention, AttentionFragment, attentionVariables } from "./attention";
import { Banner, ConditionFragment } from "./banner";
import { type OverviewState, reduceOverview } from "./model";
import { NEXT_UP_VARIABLES, NextUp, NextUpFragment } from "./next-up";
import { OverviewQueue, QueueFragment } from "./overview-queue";
import { RunningNow } from "./running-now";
import { Tiles } from "./tiles";

/** Which failures belong together the server decides; asked again, alone, when something fails. */
const FailuresFragment = graphql(
  `
  fragment OverviewFailures on Query {
    failureGroups(first: 50) { ...FailureGroup }
  }
`,
  [FailureGroupFragment],
);

const FailuresDocument = graphql(`query OverviewFailuresAlone { asOf ...OverviewFailures }`, [FailuresFragment]);

/** What the page shows, with the first answers of those parts that then ask alone, each when its own things change. */
const OverviewDocument = graphql(
  `
  query OverviewPage(
    $shown: Int!
    $late: Boolean!
    $people: RunFilter
    $unseen: AlarmFiringFilter
    $next: Int!
    $apart: Duration!
    $cleanUps: [String!]!
  ) {
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
  [
    TilesFragment,
    RunRowFragment,
    ExecutionRowFragment,
    FailuresFragment,
    ConditionFragment,
    AttentionFragment,
    QueueFragment,
    NextUpFragment,
  ],
);

const FAILURE_GROUPS = 6;

function useFailures(first: ResultOf<typeof FailuresDocument> | null) {
  return useLive("overview/failures", {
    document: FailuresDocument,
    first,
    variables: () => ({}),
    init: (data): readonly FailureGroupRow[] => data.failureGroups,
    outdates: ({ kind, outcome }) => kind === "FAILURES_UPDATED" || (typeof outcome === "string" && isFailure(outcome)),
    expires: (groups) => markEnds(groups, serverNow()),
    every: 1_500,
  });
}

function LastFailures({ failures, count }: { failures: ReturnType<typeof useFailures>; count: number }) {
  return (
    <Section title="Last failures" aside={<a href="/errors">All errors</a>}>
      <LivePart live={failures} rows={2}>
        {(groups) => <FailureGroups groups={groups.slice(0, FAILURE_GROUPS)} failures={count} />}
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
  useEffect(() => setTitle("Overview"), []);
  return (
    <>
      <PageHead title="Overview" />
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {state === null ? (
        error === null && <Skeleton rows={8} />
      ) : (
        <Shown state={state} answer={answer} dimmed={error !== null} />
      )}
    </>
  );
}

interface ShownProps {
  state: State;
  /** The first answer, which has what the parts ask for. */
  answer: ResultOf<typeof OverviewDocument> | null;
  dimmed: boolean;
}

function Shown({ state, answer, dimmed }: ShownProps) {
  const tiles = health.value ?? state.tiles;
  const failures = useFailures(answer);
  return (
    <div class={dimmed ? "overview dimmed" : "overview"}>
      <Banner first={answer}>
        {(worst) => <Attention worse={worst} first={answer} failures={failures.state ?? []} tiles={tiles} />}
      </Banner>
      <Tiles tiles={tiles} />
      <div class="columns overview-columns">
        <div class="stack">
          <RunningNow runs={state.runs} />
          <LastFailures failures={failures} count={tiles.failedLast24h} />
          <OverviewQueue first={answer} />
        </div>
        <NextUp first={answer} />
      </div>
      <TimelinePart />
      <Newest executions={state.recent} />
    </div>
  );
}
