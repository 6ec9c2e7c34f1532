import { useEffect, useState } from "preact/hooks";
import { ExecutionRowFragment } from "../../api/fragments";
import { graphql, type ResultOf } from "../../api/tada";
import { integer, plural } from "../../lib/format";
import { paths } from "../../lib/paths";
import { frozen, serverNow } from "../../live/clock";
import { setTitle } from "../../live/title";
import { useLive } from "../../live/use-live";
import { failedExecutions, failedRuns, GROUPED, markEnds } from "../../model/failures";
import { isFailure, RANGES, rangeWords } from "../../model/log-filter";
import { readRunsFilter, runsFilterInput } from "../../model/run-filter";
import { BulkDialog, Changes } from "../../parts/dialogs";
import { ExecutionTable } from "../../parts/execution-table";
import { FailureGroupFragment } from "../../parts/failure-groups";
import { Facts } from "../../parts/task-facts";
import type { BulkTarget } from "../../services/runs";
import { searchParams } from "../../state/route";
import { Action } from "../../ui/action";
import { Empty, ErrorBox, Skeleton } from "../../ui/feedback";
import { Icon } from "../../ui/icon";
import { Name } from "../../ui/name";
import { PageHead, Section } from "../../ui/section";
import { StackedBars } from "../../ui/stacked-bars";
import { Time } from "../../ui/time";
import { MarkActions, MarkLine } from "./marks";
import { Ranges, rangeOf, type Shown } from "./ranges";

export { Errors } from "./list";

const HOUR = 3_600_000;
const WEEK = 168 * HOUR;

const ErrorDocument = graphql(
  `
  query ErrorPage($fingerprint: String!, $job: String, $from: DateTime!, $bucket: StatisticsBucket!) {
    asOf
    serverTime
    failureHistory(fingerprint: $fingerprint, jobName: $job, from: $from, bucket: $bucket) {
      beginsAt
      group { ...FailureGroup }
      points { at count }
      nodes { name count }
      versions { codeVersion count }
      executions(first: 25) { nodes { ...ExecutionRow isRecovered job { codeVersion } } }
    }
  }
`,
  [ExecutionRowFragment, FailureGroupFragment],
);

type History = NonNullable<ResultOf<typeof ErrorDocument>["failureHistory"]>;
type Group = History["group"];

/** The width of a bar: a month by the day, less by the hour. */
function stepOf(range: Shown): number {
  return range === "30d" ? 24 * HOUR : HOUR;
}

/** When the first bar begins. */
function since(range: Shown): number {
  const step = stepOf(range);
  return Math.floor(serverNow() / step) * step - RANGES[range] * HOUR + step;
}

function headline({ errorType, message }: Group): string {
  const first = message.split("\n", 1)[0] ?? "";
  return errorType === null || first.startsWith(errorType) ? first : `${errorType}: ${first}`;
}

/** The failures with one cause: when and where they happen, which they are, and what can be done about them. */
export function ErrorPage({ fingerprint }: { fingerprint: string }) {
  const params = searchParams.value;
  const range = rangeOf(params, "7d");
  const job = params.get("job");
  const { state, error, reload } = useLive(`error/${fingerprint} ${job ?? ""} ${range}`, {
    document: ErrorDocument,
    variables: () => ({
      fingerprint,
      job,
      from: new Date(since(range)).toISOString(),
      bucket: range === "30d" ? ("DAY" as const) : ("HOUR" as const),
    }),
    init: (data): { history: History | null } => ({ history: data.failureHistory }),
    outdates: ({ kind, outcome, jobName }) =>
      kind === "FAILURES_UPDATED" ||
      (kind === "EXECUTION_FINISHED" &&
        typeof outcome === "string" &&
        // A success may be that of a retry.
        (isFailure(outcome) || outcome === "SUCCESS") &&
        (job === null || jobName === job)),
    expires: (shown) => (shown.history === null ? null : markEnds([shown.history.group], serverNow())),
    every: 1_500,
  });
  const history = state?.history ?? null;
  useEffect(() => setTitle(history?.group.errorType ?? "Error"), [history?.group.errorType]);
  return (
    <>
      <PageHead title={history === null ? "Error" : (history.group.errorType ?? "Error")}>
        {history !== null && <Actions history={history} range={range} changed={reload} />}
      </PageHead>
      <Ranges range={range} />
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {history !== null ? (
        <div class={error === null && !frozen.value ? "" : "dimmed"}>
          <Body history={history} range={range} />
        </div>
      ) : state !== null ? (
        <Empty title={`No such failure in the last ${rangeWords(range)}`}>
          <a class="button" href="/log?outcome=failures">
            All failures
          </a>
        </Empty>
      ) : (
        error === null && <Skeleton rows={10} />
      )}
    </>
  );
}

function Actions({ history, range, changed }: { history: History; range: Shown; changed: () => void }) {
  const { group, executions } = history;
  const [retried, setRetried] = useState<BulkTarget | null>(null);
  const runs = failedRuns(group);
  const close = (): void => setRetried(null);
  return (
    <>
      <Action
        class="button primary"
        onClick={() => setRetried({ filter: runsFilterInput(readRunsFilter(runs), serverNow()) })}
      >
        <Icon name="retry" /> Retry these runs…
      </Action>
      <MarkActions group={group} codeVersion={executions.nodes[0]?.job?.codeVersion ?? null} />
      <a class="button" href={`/runs?${runs.toString()}`}>
        Failed runs
      </a>
      <a class="button" href={`/log?${failedExecutions(group, range).toString()}`}>
        Log
      </a>
      {retried !== null && (
        <BulkDialog
          kind="retry"
          target={retried}
          onClose={close}
          onDone={() => {
            close();
            changed();
          }}
        />
      )}
    </>
  );
}

/** How often it failed in each version; "not said" is all that is known of code without one. */
function versionsOf(versions: History["versions"]): string {
  return versions.map(({ codeVersion, count }) => `${codeVersion ?? "not said"} (${integer(count)})`).join(", ");
}

function Body({ history, range }: { history: History; range: Shown }) {
  const { group, beginsAt, points, nodes, versions, executions } = history;
  const step = stepOf(range);
  const counts = new Map(points.map((point) => [Date.parse(point.at), point.count]));
  const first = since(range);
  const starts = Array.from({ length: (RANGES[range] * HOUR) / step }, (_, place) => first + place * step);
  return (
    <>
      <section class="panel panel-body" aria-label="What happened">
        <MarkLine group={group} />
        <p class="error-full">{headline(group)}</p>
        <p>
          {plural(group.count, "execution")} of <a href={paths.job(group.jobName)}>{group.jobName}</a> failed so on{" "}
          {plural(nodes.length, "node")} in the last {rangeWords(range)}: the first <Time at={group.firstAt} />, the
          last <Time at={group.lastAt} />.
          {beginsAt !== null && (
            <>
              {" "}
              Of the job’s failures only the newest {integer(GROUPED)} are counted, since <Time at={beginsAt} />.
            </>
          )}
        </p>
      </section>
      <section class="panel" aria-label="Failures over time">
        <StackedBars
          title={`Failures, last ${rangeWords(range)}`}
          starts={starts}
          layers={[{ name: "Failures", look: "bad", values: starts.map((start) => counts.get(start) ?? 0) }]}
          write={integer}
          whole
          {...(beginsAt !== null && { isKnown: (start) => start >= Date.parse(beginsAt) })}
          width={1280}
          height={120}
        />
      </section>
      <Section title="What changed before">
        <Changes
          filter={{
            jobName: { eq: group.jobName },
            at: { gte: new Date(Date.parse(group.firstAt) - WEEK).toISOString(), lte: group.lastAt },
          }}
          within="in the week before it began"
        />
      </Section>
      <Section title="Where">
        <Facts
          entries={[
            ["Job", <a href={paths.job(group.jobName)}>{group.jobName}</a>],
            [
              "Nodes",
              nodes.map(({ name, count }, place) => (
                <span key={name}>
                  {place > 0 && ", "}
                  <a href={`/log?${failedExecutions(group, range).toString()}&node=${encodeURIComponent(name)}`}>
                    <Name text={name} />
                  </a>{" "}
                  ({integer(count)})
                </span>
              )),
            ],
            ["Versions", versionsOf(versions)],
          ]}
        />
      </Section>
      <Section
        title="Newest executions"
        aside={<a href={`/log?${failedExecutions(group, range).toString()}`}>All in the log</a>}
      >
        <ExecutionTable executions={executions.nodes} />
      </Section>
    </>
  );
}
