import { graphql } from "../../api/tada";
import { cappedPlural, plural, words } from "../../lib/format";
import { labelsOf } from "../../lib/labels";
import { paths } from "../../lib/paths";
import { resourcesText } from "../../lib/resources";
import { skipReason } from "../../lib/skip-reasons";
import { duration } from "../../lib/time";
import { useLive } from "../../live/use-live";
import { Labels } from "../../parts/labels";
import { Facts } from "../../parts/task-facts";
import { Time } from "../../ui/time";
import type { Retries, RunDetail } from "./document";

const AheadDocument = graphql(`
  query RunsAhead($filter: RunFilter) {
    asOf
    runs(first: 1, filter: $filter) { totalCount }
  }
`);

/**
 * How many runs of its group come before it: those of its priority that were due earlier. Fairness between groups and
 * priorities decides the rest.
 */
export function Place({ run }: { run: RunDetail }) {
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
      {state === 0 ? "No run" : cappedPlural(state, "run")} of priority {words(run.priority)} {state > 1 ? "are" : "is"}{" "}
      before it in group <a href={paths.group(run.group)}>{run.group}</a>.
    </p>
  );
}

export function RunFacts({ run, retries }: { run: RunDetail; retries: Retries }) {
  return (
    <Facts
      entries={[
        ["Job", <a href={paths.job(run.jobName)}>{run.jobName}</a>],
        ["Task", run.taskName === null ? "–" : <a href={paths.task(run.taskName)}>{run.taskName}</a>],
        ["Group", <a href={paths.group(run.group)}>{run.group}</a>],
        ["Priority", words(run.priority)],
        ["Trigger", words(run.trigger)],
        ["Nominal time", run.scheduledFor === null ? "–" : <Time at={run.scheduledFor} form="full" />],
        [
          "Failures",
          `${run.failures}, ${run.retries === 0 ? "no retries" : `up to ${plural(run.retries, "retry", "retries")}`}`,
        ],
        ["Retry delay", duration(run.retryDelay)],
        ["Time box", run.timeout === null ? "none" : duration(run.timeout)],
        ["Node", run.node ?? "–"],
        ...(run.resources === null ? [] : ([["At the engine", <code>{resourcesText(run.resources)}</code>]] as const)),
        ["Unique key", run.uniqueKey ?? "–"],
        ...(run.flowPlace === null
          ? []
          : ([
              [
                "Flow",
                <a href={paths.flow(run.flowPlace.flowId)}>
                  flow {run.flowPlace.flowId}, {run.flowPlace.key}
                </a>,
              ],
            ] as const)),
        ["Submitted by", run.submitter ?? "–"],
        ...(labelsOf(run.labels).length === 0 ? [] : ([["Labels", <Labels labels={run.labels} />]] as const)),
        ...(run.skipReason === null ? [] : ([["Skipped since", skipReason(run.skipReason)]] as const)),
        ...(run.expiresAt === null ? [] : ([["Starts by", <Time at={run.expiresAt} form="full" />]] as const)),
        ...(run.concurrencyKey === null
          ? []
          : ([
              [
                "Concurrency key",
                `${run.concurrencyKey}, at most ${run.maxConcurrent ?? 1} ${run.isPlaceKept ? "begun and unfinished" : "at once"}`,
              ],
            ] as const)),
        ...(run.rateKey === null
          ? []
          : ([["Rate key", run.rateKey === "" ? "that of the job" : run.rateKey]] as const)),
        ...(run.description === "" ? [] : ([["Description", run.description]] as const)),
        ...(run.cancelReason === null ? [] : ([["Cancelled for", run.cancelReason]] as const)),
        ...(run.retriedFrom === null
          ? []
          : ([["Retry of", <a href={paths.run(run.retriedFrom.id)}>run {run.retriedFrom.id}</a>]] as const)),
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
