import type { ComponentChildren } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { graphql, type ResultOf } from "../../api/tada";
import { now } from "../../live/clock";
import { health } from "../../live/health";
import { useLive } from "../../live/use-live";
import { Icon } from "../../ui/icon";
import { LOOKED_AT, type Condition as Worst, worstOf } from "./worst";

export const ConditionFragment = graphql(`
  fragment Condition on Query {
    overview { liveNodes }
    availableJobs { name isKnown }
    firstDue: tasks(
      first: 1
      filter: { isEnabled: { eq: true }, pausedAt: { isNull: true }, nextExecutionAt: { isNull: false } }
      orderBy: [{ field: NEXT_EXECUTION_AT }]
    ) {
      nodes { nextExecutionAt }
    }
  }
`);

const ConditionDocument = graphql(`query ConditionOfServer { asOf ...Condition }`, [ConditionFragment]);

type ConditionAnswer = ResultOf<typeof ConditionDocument>;

const UnknownDocument = graphql(`
  query RunsOfUnknownJobs($first: Int!, $known: [String!]!) {
    asOf
    runs(first: $first, filter: { state: { in: [WAITING, SCHEDULED, STUCK, SUSPENDED] }, jobName: { notIn: $known } }) {
      totalCount
      nodes { jobName }
    }
  }
`);

/** More values than these no filter takes: with so many jobs nobody is asked whether runs wait for others. */
const MOST_NAMES = 1_000;

interface Condition {
  /** Jobs that a node takes: others may never have been published, or are forgotten. */
  readonly knownJobs: readonly string[];
  readonly firstDue: number | null;
  readonly liveNodes: number;
}

type Unknown = Pick<Worst, "unknownJobs" | "runsOfUnknownJobs">;

const NONE_UNKNOWN: Unknown = { unknownJobs: [], runsOfUnknownJobs: 0 };

function useCondition(first: ConditionAnswer | null): Condition | null {
  return useLive("overview/condition", {
    document: ConditionDocument,
    first,
    variables: () => ({}),
    init: ({ availableJobs, firstDue, overview }): Condition => {
      const at = firstDue.nodes[0]?.nextExecutionAt ?? null;
      return {
        knownJobs: availableJobs.filter((job) => job.isKnown).map((job) => job.name),
        firstDue: at === null ? null : Date.parse(at),
        ...overview,
      };
    },
    outdates: (event) =>
      event.kind.startsWith("NODE_") || event.kind.startsWith("TASK_") || event.kind === "RUN_CREATED",
    every: 1_500,
  }).state;
}

interface BannerProps {
  /** The first answer to its question, if it came with that of the page. */
  first: ConditionAnswer | null;
  /** What stands below, which is told whether there is a banner. */
  children: (worst: boolean) => ComponentChildren;
}

/** The worst that can be said of the server, above everything else; nothing when all is well. */
export function Banner({ first, children }: BannerProps) {
  const condition = useCondition(first);
  // What stands below stays where it is, and asks once, no matter what of this is known by now.
  const [worse, setWorse] = useState(false);
  return (
    <>
      <div role="status">
        {condition !== null &&
          (condition.knownJobs.length > MOST_NAMES ? (
            <Said condition={condition} unknown={NONE_UNKNOWN} tell={setWorse} />
          ) : (
            <WithUnknown condition={condition} tell={setWorse} />
          ))}
      </div>
      {children(worse)}
    </>
  );
}

interface SaidProps {
  condition: Condition;
  unknown: Unknown;
  /** Is told whether there is something to say. */
  tell: (worse: boolean) => void;
}

function WithUnknown({ condition, tell }: Omit<SaidProps, "unknown">) {
  const known = condition.knownJobs;
  const { state } = useLive(`overview/unknown ${known.join()}`, {
    document: UnknownDocument,
    variables: () => ({ first: LOOKED_AT, known: [...known] }),
    init: ({ runs }): Unknown => ({
      runsOfUnknownJobs: runs.totalCount,
      unknownJobs: [...new Set(runs.nodes.map((run) => run.jobName))],
    }),
    outdates: (event) =>
      typeof event.jobName === "string" && event.kind.startsWith("RUN_") && !known.includes(event.jobName),
    every: 1_500,
  });
  return <Said condition={condition} unknown={state ?? NONE_UNKNOWN} tell={tell} />;
}

function Said({ condition, unknown, tell }: SaidProps) {
  const { liveNodes } = health.value ?? condition;
  const worst = worstOf({ ...condition, liveNodes, ...unknown, now: now.value });
  useLayoutEffect(() => tell(worst !== null), [worst !== null]);
  if (worst === null) return null;
  return (
    <a class={`banner banner-${worst.tone}`} href={worst.href}>
      <Icon name="alert" />
      <span>{worst.text}</span>
      <Icon name="right" />
    </a>
  );
}
