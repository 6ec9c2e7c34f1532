/** An operation that the explorer offers; `src/explorer/examples.test.ts` checks every one against the schema. */
export interface Example {
  readonly section: "Jobs and log" | "Tasks" | "Runs" | "Live" | "Operations";
  readonly title: string;
  readonly query: string;
  /** JSON for the variables editor. */
  readonly variables?: string;
  /** Whether a first visit opens it in a tab. */
  readonly opened?: boolean;
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

export const EXAMPLES: readonly Example[] = [
  {
    section: "Jobs and log",
    title: "Which jobs can run here",
    opened: true,
    query: `# Jobs that the nodes know, with the schedule their code declares.
query AvailableJobs {
  availableJobs {
    name
    description
    schedule
  }
}
`,
  },
  {
    section: "Jobs and log",
    title: "The newest executions",
    opened: true,
    query: `# The execution log, newest first.
query JobLogs($limit: Int = 20, $onlyFailures: Boolean = false) {
  jobLogs(limit: $limit, onlyFailures: $onlyFailures) {
    id
    jobName
    startedAt
    completedAt
    success
    errorMessage
    recordsProcessed
  }
}
`,
    variables: json({ limit: 20, onlyFailures: false }),
  },
  {
    section: "Jobs and log",
    title: "Run a job now",
    opened: true,
    query: `mutation TriggerJob {
  triggerJob(jobName: "cleanup_expired_sessions") {
    success
    message
    jobName
    run { id state }
  }
}
`,
  },
  {
    section: "Jobs and log",
    title: "What failed in the last day, with its log",
    query: `query Failures($since: DateTime!) {
  executions(
    first: 10
    filter: { success: { eq: false }, startedAt: { gte: $since } }
    orderBy: [{ field: STARTED_AT, direction: DESC }]
  ) {
    nodes {
      id
      jobName
      outcome
      attempt
      node
      errorType
      errorMessage
      traceback
      logLines(first: 20) { lines { at level message } lastLine hasEnded }
    }
    pageInfo { hasNextPage endCursor }
  }
}
`,
    variables: json({ since: "2026-01-01T00:00:00Z" }),
  },
  {
    section: "Tasks",
    title: "Check a schedule",
    opened: true,
    query: `# Six fields: second minute hour day-of-month month day-of-week.
query ValidateSchedule {
  validateSchedule(schedule: { syntax: CRON, value: "0 30 9 * * MON-FRI", timezone: "Europe/Berlin" }, count: 5) {
    isValid
    humanized
    nextExecutions
    error { message position suggestion }
  }
}
`,
  },
  {
    section: "Tasks",
    title: "Create a task",
    opened: true,
    query: `mutation CreateTask($input: CreateTaskInput!) {
  createTask(input: $input) {
    task {
      name
      schedule { humanized nextExecutions(count: 3) }
      explain { sentence }
    }
    errors { code message path }
  }
}
`,
    variables: json({
      input: {
        name: "hourly-session-cleanup",
        jobName: "cleanup_expired_sessions",
        description: "Sessions, twenty past every hour",
        schedule: { syntax: "CRON", value: "0 20 * * * *", timezone: "UTC" },
      },
    }),
  },
  {
    section: "Tasks",
    title: "Tasks, their schedules and why they are not running",
    query: `query Tasks {
  tasks(first: 50) {
    nodes {
      name
      isEnabled
      pausedAt
      schedule { syntax value timezone humanized }
      nextExecutionAt
      lastStatus { outcome startedAt duration recordsProcessed errorMessage }
      explain { sentence details changesAt }
    }
  }
}
`,
  },
  {
    section: "Tasks",
    title: "Pause a task, with a reason",
    query: `mutation PauseTask {
  pauseTask(input: { name: "cleanup_expired_sessions", reason: "database maintenance" }) {
    task { name pausedAt pausedBy pauseReason }
    errors { code message }
  }
}
`,
  },
  {
    section: "Tasks",
    title: "Delete a task, tried first",
    query: `# With dryRun nothing is changed: the answer says what would go.
mutation DeleteTask($input: DeleteTaskInput!) {
  deleteTask(input: $input) {
    deletedName
    cancelledRuns { id state }
    cancelledCount
    errors { code message path }
  }
}
`,
    variables: json({ input: { name: "hourly-session-cleanup", dryRun: true } }),
  },
  {
    section: "Tasks",
    title: "What is due in the next hours",
    query: `query Upcoming {
  upcoming(first: 20) {
    nodes { scheduledFor effectiveAt task { name jobName } }
  }
}
`,
  },
  {
    section: "Runs",
    title: "Put runs into the queue",
    opened: true,
    query: `mutation EnqueueRuns($input: EnqueueRunsInput!) {
  enqueueRuns(input: $input) {
    runs { id state jobName group priority availableAt isDeduplicated }
    errors { code message path }
  }
}
`,
    variables: json({
      input: {
        runs: [
          { jobName: "cleanup_expired_sessions", group: "maintenance", priority: "HIGH" },
          { jobName: "cleanup_expired_device_codes", group: "maintenance", uniqueKey: "device-codes" },
        ],
      },
    }),
  },
  {
    section: "Runs",
    title: "What waits, and why",
    opened: true,
    query: `query WaitingRuns {
  runs(
    first: 50
    filter: { or: [{ state: { in: [WAITING, SCHEDULED, RUNNING] } }, { state: { eq: STUCK }, failures: { gte: 1 } }] }
    orderBy: [{ field: AVAILABLE_AT }]
  ) {
    nodes {
      id
      state
      jobName
      group
      priority
      availableAt
      progress { done total message }
      explain { sentence details changesAt }
    }
    totalCount
  }
}
`,
  },
  {
    section: "Runs",
    title: "Cancel a run",
    query: `mutation CancelRun($id: ID!) {
  cancelRun(input: { id: $id, reason: "no longer needed" }) {
    run { id state }
    errors { code message }
  }
}
`,
    variables: json({ id: "1" }),
  },
  {
    section: "Live",
    title: "Every change, live",
    opened: true,
    query: `# Stays open. Trigger a job in another tab and watch. Reconnect with events(after: "<cursor>") to miss nothing.
subscription Events {
  events {
    cursor
    at
    kind
    ... on RunEvent {
      jobName
      taskName
      runId
      runState
    }
    ... on ExecutionEvent {
      jobName
      taskName
      runId
      execution { outcome duration recordsProcessed errorMessage }
    }
  }
}
`,
  },
  {
    section: "Live",
    title: "Starts and ends of one job",
    query: `subscription JobStatus {
  executions(jobName: "cleanup_expired_sessions") {
    id
    jobName
    startedAt
    completedAt
    success
    errorMessage
    recordsProcessed
  }
}
`,
  },
  {
    section: "Live",
    title: "Follow the log of an execution",
    query: `subscription ExecutionLog($id: ID!) {
  executionLog(executionId: $id, afterLine: 0) {
    lines { line at level message }
    cut
    hasEnded
  }
}
`,
    variables: json({ id: "1" }),
  },
  {
    section: "Operations",
    title: "What pruning would delete",
    query: `# With dryRun nothing is changed: the answer says what would go.
mutation PruneHistory($input: PruneHistoryInput!) {
  pruneHistory(input: $input) {
    run { id }
    executions { id jobName completedAt }
    count
    hasMore
    errors { code message path }
  }
}
`,
    variables: json({ input: { maxAgeDays: 30, dryRun: true } }),
  },
  {
    section: "Operations",
    title: "Nodes and groups",
    query: `query Operations {
  nodes(first: 20, filter: { state: { in: [STARTING, ACTIVE, STALLED, DRAINING, STOPPING] } }) {
    nodes { name state slots running version startedAt heartbeatAt clockSkew jobs }
  }
  groups(first: 50) {
    nodes { name isPaused maxRunning waiting scheduled running stuck oldestWait }
    pageInfo { hasNextPage endCursor }
    totalCount
  }
  serverTime
}
`,
  },
];
