import { useEffect } from "preact/hooks";
import { type ExecutionRow, ExecutionRowFragment, RunRowFragment } from "../../api/fragments";
import { graphql, type ResultOf } from "../../api/tada";
import { cappedPlural } from "../../lib/format";
import { health, type TilesData, TilesFragment } from "../../live/health";
import { setTitle } from "../../live/title";
import { useLive } from "../../live/use-live";
import { isFailure } from "../../model/log-filter";
import { ExecutionTable } from "../../parts/execution-table";
import { FailureGroupFragment, FailureGroups } from "../../parts/failure-groups";
import { ErrorBox, Skeleton } from "../../ui/feedback";
import { LivePart } from "../../ui/live-part";
import { PageHead, Section } from "../../ui/section";
import { usePhone } from "../../ui/use-phone";
import { TimelinePart } from "../timeline/part";
import { Attention, AttentionFragment, attentionVariables, useEndOfSilence } from "./attention";
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
    failureGroups(first: $groups, isKnown: false) { ...FailureGroup }
  }
`,
  [FailureGroupFragment],
);

const FailuresDocument = graphql(`query OverviewFailuresAlone($groups: Int!) { asOf ...OverviewFailures }`, [
  FailuresFragment,
]);

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
    $groups: Int!
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

function useFailures(first: ResultOf<typeof FailuresDocument> | null, tiles: TilesData) {
  const live = useLive("overview/failures", {
    document: FailuresDocument,
    first,
    variables: () => ({ groups: FAILURE_GROUPS }),
    init: ({ failureGroups }) => failureGroups,
    outdates: ({ kind, outcome }) => kind === "FAILURES_UPDATED" || (typeof outcome === "string" && isFailure(outcome)),
    every: 1_500,
  });
  useEndOfSilence(tiles, () => live.reload());
  return live;
}

function LastFailures({ failures, tiles }: { failures: ReturnType<typeof useFailures>; tiles: TilesData }) {
  const known = tiles.failedLast24h - tiles.unknownFailedLast24h;
  return (
    <Section title="Last failures" aside={<a href="/errors">All errors</a>}>
      <LivePart live={failures} rows={2}>
        {(groups) => (
          <>
            {(groups.length > 0 || known === 0) && <FailureGroups groups={groups} failures={tiles.failedLast24h} />}
            {known > 0 && (
              <p class="panel-body dim">
                {cappedPlural(known, "failure")} of <a href="/errors?state=SILENCED">errors that people know of</a>
              </p>
            )}
          </>
        )}
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
    variables: () => ({ ...attentionVariables(), ...NEXT_UP_VARIABLES, groups: FAILURE_GROUPS }),
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
  const failures = useFailures(answer, tiles);
  return (
    <div class={dimmed ? "overview dimmed" : "overview"}>
      <Banner first={answer}>{(worst) => <Attention worse={worst} first={answer} tiles={tiles} />}</Banner>
      <Tiles tiles={tiles} />
      <div class="columns overview-columns">
        <div class="stack">
          <RunningNow runs={state.runs} />
          <LastFailures failures={failures} tiles={tiles} />
          <OverviewQueue first={answer} />
        </div>
        <NextUp first={answer} />
      </div>
      <TimelinePart />
      <Newest executions={state.recent} />
    </div>
  );
}
