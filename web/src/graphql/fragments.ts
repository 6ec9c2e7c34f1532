import { graphql, type FragmentOf, type ResultOf } from "./tada";

/** One row of an execution list. */
export const ExecutionRowFragment = graphql(`
  fragment ExecutionRow on JobExecution {
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
    run { id }
  }
`);

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
    progress { done total message }
  }
`);

/** One row of a task list. */
export const TaskRowFragment = graphql(
  `
  fragment TaskRow on Task {
    id
    name
    description
    enabled
    source
    jobName
    group
    owner
    priority
    schedule { syntax value timezone humanized }
    nextExecution
    lastStatus { ...ExecutionRow }
    pausedAt
    pausedBy
    pauseReason
    finished
    overridden
    jobKnown
    stalled
    version
  }
`,
  [ExecutionRowFragment],
);

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
    jobs
  }
`);

export const GroupRowFragment = graphql(`
  fragment GroupRow on Group {
    name
    paused
    pausedAt
    pauseReason
    maxRunning
    waiting
    scheduled
    running
    stuck
    oldestWait
  }
`);

export type ExecutionRow = FragmentOf<typeof ExecutionRowFragment>;
export type RunRow = FragmentOf<typeof RunRowFragment>;
export type TaskRow = FragmentOf<typeof TaskRowFragment>;
export type NodeRow = FragmentOf<typeof NodeRowFragment>;
export type GroupRow = FragmentOf<typeof GroupRowFragment>;

export const EventsDocument = graphql(
  `
  subscription Events($after: String) {
    events(after: $after) {
      cursor
      at
      kind
      taskId
      taskName
      runId
      executionId
      nodeName
      groupName
      jobName
      state
      task { ...TaskRow }
      run { ...RunRow }
      execution { ...ExecutionRow }
      node { ...NodeRow }
      group { ...GroupRow }
    }
  }
`,
  [TaskRowFragment, RunRowFragment, ExecutionRowFragment, NodeRowFragment, GroupRowFragment],
);

export type LiveEvent = ResultOf<typeof EventsDocument>["events"];
