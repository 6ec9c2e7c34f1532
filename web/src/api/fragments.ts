import { type FragmentOf, graphql, type ResultOf } from "./tada";

/** What an execution says of itself. */
export const ExecutionFieldsFragment = graphql(`
  fragment ExecutionFields on JobExecution {
    id
    jobName
    taskName
    startedAt
    completedAt
    success
    outcome
    errorMessage
    errorType
    recordsProcessed
    attempt
    node
    trigger
    scheduledFor
    duration
    wait
    progress { done total message }
  }
`);

/** One row of an execution list. */
export const ExecutionRowFragment = graphql(
  `
  fragment ExecutionRow on JobExecution {
    ...ExecutionFields
    run { id }
  }
`,
  [ExecutionFieldsFragment],
);

/** One row of a run list, without the costly `explain`. */
export const RunRowFragment = graphql(`
  fragment RunRow on Run {
    id
    state
    jobName
    taskName
    group
    priority
    attempt
    failures
    retries
    trigger
    scheduledFor
    submittedAt
    availableAt
    startedAt
    finishedAt
    cancelRequestedAt
    node
    error
    description
    labels
    progress { done total message }
  }
`);

/** One row of a task list. */
export const TaskRowFragment = graphql(`
  fragment TaskRow on Task {
    id
    name
    description
    isEnabled
    source
    jobName
    group
    owner
    labels
    priority
    schedule { syntax value timezone humanized }
    nextExecutionAt
    lastStatus { id outcome success startedAt completedAt }
    pausedAt
    pausedBy
    pauseReason
    resumeAt
    isFinished
    isOverridden
    isJobKnown
    isStalled
    version
  }
`);

export const NodeRowFragment = graphql(`
  fragment NodeRow on Node {
    id
    name
    state
    slots
    running
    version
    startedAt
    heartbeatAt
    expiresAt
    clockSkew
    jobCount
    groups
    onlyJobs
    tags
    withoutTags
    blockage { beganAt runId jobName }
    stall
  }
`);

export const GroupRowFragment = graphql(`
  fragment GroupRow on Group {
    name
    isPaused
    pausedAt
    pauseReason
    resumeAt
    maxRunning
    maxWaitLow
    keep
    cap { limit whenFull }
    rate { limit per burst }
    tokens
    nextTokenAt
    waiting
    scheduled
    running
    stuck
    suspended
    oldestWait
  }
`);

/** With the labels of its run where a page asks for them. */
export type ExecutionRow = FragmentOf<typeof ExecutionRowFragment> & {
  readonly labels?: unknown;
  /** Where it is asked for: what failed has succeeded since. */
  readonly isRecovered?: boolean;
};
export type RunRow = FragmentOf<typeof RunRowFragment>;
export type TaskRow = FragmentOf<typeof TaskRowFragment>;
export type NodeRow = FragmentOf<typeof NodeRowFragment>;
export type GroupRow = FragmentOf<typeof GroupRowFragment>;

/** The things that an event may bring along, as they are when it is delivered. */
export const PARTS = ["tasks", "runs", "executions", "nodes"] as const;
export type Part = (typeof PARTS)[number];

/**
 * Every change. What it is about is read by the server for each event and each reader, so only what a page shows is
 * asked for; an execution comes without its run, whose id the event itself has.
 */
export const EventsDocument = graphql(
  `
  subscription Events($after: String, $tasks: Boolean!, $runs: Boolean!, $executions: Boolean!, $nodes: Boolean!) {
    events(after: $after) {
      cursor
      at
      kind
      ... on TaskEvent {
        taskId
        taskName
        jobName
        task @include(if: $tasks) { ...TaskRow }
      }
      ... on RunEvent {
        taskId
        taskName
        jobName
        runId
        flowId
        runState
        task @include(if: $tasks) { ...TaskRow }
        run @include(if: $runs) { ...RunRow }
      }
      ... on ExecutionEvent {
        taskId
        taskName
        jobName
        runId
        flowId
        executionId
        outcome
        task @include(if: $tasks) { ...TaskRow }
        run @include(if: $runs) { ...RunRow }
        execution @include(if: $executions) { ...ExecutionFields }
      }
      ... on StepEvent {
        taskId
        taskName
        jobName
        runId
        run @include(if: $runs) { ...RunRow }
      }
      ... on SkippedEvent {
        taskId
        taskName
        jobName
        task @include(if: $tasks) { ...TaskRow }
      }
      ... on NodeEvent {
        changedNode @include(if: $nodes) { ...NodeRow }
      }
      ... on FlowEvent {
        flowId
      }
    }
  }
`,
  [TaskRowFragment, RunRowFragment, ExecutionFieldsFragment, NodeRowFragment],
);

type AnyEvent = ResultOf<typeof EventsDocument>["events"];
type FieldOf<Each> = Each extends unknown ? keyof Each : never;
type ValueOf<Each, Name> = Each extends unknown ? (Name extends keyof Each ? Each[Name] : never) : never;

/** An event of any type. A field that its type does not have is undefined. */
export type LiveEvent = Pick<AnyEvent, "cursor" | "at" | "kind"> & {
  readonly [Name in Exclude<FieldOf<AnyEvent>, "cursor" | "at" | "kind">]?: ValueOf<AnyEvent, Name> | undefined;
};

/** The execution that an event brings, as a row of a list. */
export function executionOf({ execution, runId, run }: LiveEvent): ExecutionRow | null {
  if (execution === null || execution === undefined) return null;
  return {
    ...execution,
    run: runId === undefined ? null : { id: runId },
    ...(run !== null && run !== undefined && { labels: run.labels }),
  };
}
