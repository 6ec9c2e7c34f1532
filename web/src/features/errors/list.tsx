import { useEffect } from "preact/hooks";
import { graphql, type ResultOf } from "../../api/tada";
import { plural } from "../../lib/format";
import { serverNow } from "../../live/clock";
import { setTitle } from "../../live/title";
import { useLive } from "../../live/use-live";
import { type FailureState, markEnds } from "../../model/failures";
import { isFailure, RANGES, rangeWords } from "../../model/log-filter";
import { FailureGroupFragment, FailureGroups } from "../../parts/failure-groups";
import { StateTabs } from "../../parts/state-tabs";
import { searchParams, setParams } from "../../state/route";
import { Empty } from "../../ui/feedback";
import { LivePart } from "../../ui/live-part";
import { PageHead } from "../../ui/section";
import { Ranges, rangeOf } from "./ranges";

/** So many kinds of errors the server finds at once, the most frequent ones. */
const MOST = 100;

const ErrorsDocument = graphql(
  `
  query ErrorsPage($from: DateTime!) {
    asOf
    statistics(from: $from, bucket: DAY) { failures }
    failureGroups(from: $from, first: 100) { ...FailureGroup }
  }
`,
  [FailureGroupFragment],
);

type Answer = ResultOf<typeof ErrorsDocument>;

const STATES = ["ALL", "OPEN", "REGRESSED", "SILENCED", "SOLVED"] as const;

function isIn(chosen: (typeof STATES)[number], { state }: { readonly state: FailureState }): boolean {
  return chosen === "ALL" || state === chosen;
}

/** All failures of some time, grouped by their errors, with what people said of them. */
export function Errors() {
  const range = rangeOf(searchParams.value, "24h");
  const asked = searchParams.value.get("state");
  const chosen = STATES.find((each) => each === asked) ?? "ALL";
  const live = useLive(`errors ${range}`, {
    document: ErrorsDocument,
    variables: () => ({ from: new Date(serverNow() - RANGES[range] * 3_600_000).toISOString() }),
    init: (data): Answer => data,
    outdates: ({ kind, outcome }) => kind === "FAILURES_UPDATED" || (typeof outcome === "string" && isFailure(outcome)),
    expires: ({ failureGroups }) => markEnds(failureGroups, serverNow()),
    every: 1_500,
  });
  useEffect(() => setTitle("Errors"), []);
  return (
    <>
      <PageHead title="Errors" />
      <Ranges range={range} />
      <LivePart live={live} rows={8}>
        {({ failureGroups: groups, statistics }) => {
          const shown = groups.filter((group) => isIn(chosen, group));
          return (
            <>
              <StateTabs
                label="State of the errors"
                tabs={STATES.map((state) => ({
                  state,
                  ...(state === "ALL" && { word: "all" }),
                  count: String(groups.filter((group) => isIn(state, group)).length),
                }))}
                chosen={chosen}
                usual="ALL"
              />
              <section class="panel" aria-label="Errors">
                {groups.length > 0 && shown.length === 0 ? (
                  <Empty title="No error is in this state">
                    <button type="button" class="button" onClick={() => setParams({ state: null })}>
                      Show all
                    </button>
                  </Empty>
                ) : (
                  <FailureGroups
                    groups={shown}
                    failures={statistics.failures}
                    within={rangeWords(range)}
                    range={range}
                    few={10}
                  />
                )}
                {groups.length === MOST && (
                  <p class="panel-body dim">These are the {plural(MOST, "error")} with most failures.</p>
                )}
              </section>
            </>
          );
        }}
      </LivePart>
    </>
  );
}
