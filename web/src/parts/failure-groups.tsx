import { type FragmentOf, graphql } from "../api/tada";
import { integer } from "../lib/format";
import { paths } from "../lib/paths";
import { failedRuns, GROUPED, isKnown } from "../model/failures";
import type { Range } from "../model/log-filter";
import { Empty } from "../ui/feedback";
import { Few } from "../ui/few";
import { Status } from "../ui/status";
import { Time } from "../ui/time";

/** Failures of one job with one kind of error. */
export const FailureGroupFragment = graphql(`
  fragment FailureGroup on FailureGroup {
    fingerprint
    jobName
    errorType
    message
    count
    firstAt
    lastAt
    state
    mark { silenceEndsAt silencedBy silenceReason solvedAt solvedBy solvedIn }
    execution { id taskName }
  }
`);

export type FailureGroupRow = FragmentOf<typeof FailureGroupFragment>;

/** What people said of it, in few words. */
function Said({ state, mark }: FailureGroupRow) {
  if (state === "OPEN" || mark === null) return null;
  return (
    <>
      <Status name={state} />
      {state === "SILENCED" && mark.silenceEndsAt !== null && (
        <>
          {" "}
          until <Time at={mark.silenceEndsAt} form="moment" />
        </>
      )}
      {state !== "SILENCED" && mark.solvedIn !== null && ` ${state === "SOLVED" ? "" : "after "}${mark.solvedIn}`} ·{" "}
    </>
  );
}

interface FailureGroupsProps {
  groups: readonly FailureGroupRow[];
  /** How many failures there are in all. */
  failures: number;
  /** In which time: "24 hours". */
  within?: string;
  /** What its page shows first. */
  range?: Range;
  few?: number;
}

/** The failures of some time, grouped by their error. */
export function FailureGroups({ groups, failures, within = "24 hours", range = "24h", few = 1 }: FailureGroupsProps) {
  if (groups.length === 0) {
    return (
      <Empty title={`Nothing failed in the last ${within}`}>
        <p class="dim">Failures show here, grouped by their error.</p>
      </Empty>
    );
  }
  return (
    <Few
      class="failure-list"
      few={few}
      items={[...groups.filter((group) => !isKnown(group)), ...groups.filter(isKnown)].map((group) => (
        <li key={group.fingerprint} class="failure-item" data-row tabIndex={-1}>
          <span class={isKnown(group) ? "failure-count num dim" : "failure-count num"}>
            {integer(group.count)}
            {failures > GROUPED && "+"}×
          </span>
          <span class="failure-text">
            <a class="error-line" href={paths.error(group, range)} title={group.message} data-key="Enter">
              {group.errorType !== null && !group.message.startsWith(group.errorType) && `${group.errorType}: `}
              {group.message.split("\n", 1)[0]}
            </a>{" "}
            <span class="dim cell-sub">
              <Said {...group} />
              <a href={`${paths.logOfJob(group.jobName)}&outcome=failures`}>{group.jobName}</a> ·{" "}
              {group.execution === null ? "last" : <a href={paths.execution(group.execution.id)}>last</a>}{" "}
              <Time at={group.lastAt} />
              {group.count > 1 && (
                <>
                  {" "}
                  · first <Time at={group.firstAt} />
                </>
              )}{" "}
              · <a href={`/runs?${failedRuns(group).toString()}`}>failed runs</a>
            </span>
          </span>
        </li>
      ))}
    />
  );
}
