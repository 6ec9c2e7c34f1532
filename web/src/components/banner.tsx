import { graphql } from "../graphql/tada";
import { now } from "../live/clock";
import { useLive } from "../live/use-live";
import { worstOf } from "../model/worst";
import { health } from "../state/health";
import { Icon } from "./icon";

const ConditionDocument = graphql(`
  query Condition {
    overview { liveNodes stalledTasks }
    availableJobs { name known }
    tasks(first: 1, filter: { enabled: { eq: true }, pausedAt: { isNull: true }, nextExecution: { isNull: false } }, orderBy: [{ field: NEXT_EXECUTION }]) {
      nodes { nextExecution }
    }
  }
`);

const UnknownDocument = graphql(`
  query RunsOfUnknownJobs($jobs: [String!]!) {
    runs(first: 0, filter: { state: { in: [WAITING, SCHEDULED, STUCK] }, jobName: { in: $jobs } }) { totalCount }
  }
`);

/** More names than these are not asked for in one question. */
const MOST_NAMES = 100;

interface Condition {
  readonly unknownJobs: readonly string[];
  readonly firstDue: number | null;
  readonly liveNodes: number;
  readonly stalledTasks: number;
}

function useCondition(): Condition | null {
  return useLive("overview/condition", {
    document: ConditionDocument,
    variables: () => ({}),
    init: ({ availableJobs, tasks, overview }): Condition => {
      const first = tasks.nodes[0]?.nextExecution ?? null;
      return { unknownJobs: availableJobs.filter((job) => !job.known).map((job) => job.name), firstDue: first === null ? null : Date.parse(first), ...overview };
    },
    outdates: (event) => event.kind.startsWith("NODE_") || event.kind.startsWith("TASK_") || event.kind === "RUN_CREATED",
    every: 5_000,
  }).state;
}

/** The worst that can be said of the server, above everything else; nothing when all is well. */
export function Banner() {
  const condition = useCondition();
  if (condition === null) return null;
  if (condition.unknownJobs.length > 0) return <WithUnknown condition={condition} />;
  return <Said condition={condition} runs={0} />;
}

function WithUnknown({ condition }: { condition: Condition }) {
  const jobs = condition.unknownJobs.slice(0, MOST_NAMES);
  const { state } = useLive(`overview/unknown ${jobs.join()}`, {
    document: UnknownDocument,
    variables: () => ({ jobs }),
    init: (data) => data.runs.totalCount,
    outdates: (event) => event.kind.startsWith("RUN_") && event.jobName !== null && jobs.includes(event.jobName),
    every: 5_000,
  });
  return <Said condition={condition} runs={state ?? 0} />;
}

function Said({ condition, runs }: { condition: Condition; runs: number }) {
  const { liveNodes, stalledTasks } = health.value ?? condition;
  const worst = worstOf({ ...condition, liveNodes, stalledTasks, runsOfUnknownJobs: runs, now: now.value });
  return (
    <div role="status">
      {worst !== null && (
        <a class={`banner banner-${worst.tone}`} href={worst.href}>
          <Icon name="alert" />
          <span>{worst.text}</span>
          <Icon name="right" />
        </a>
      )}
    </div>
  );
}
