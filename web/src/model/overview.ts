import type { ExecutionRow, LiveEvent, RunRow, TaskRow } from "../graphql/fragments";
import { upsertFirst, withProgress, without } from "./rows";

/** What the overview page shows, apart from the tiles and the timeline. */
export interface OverviewState {
  readonly tasks: readonly TaskRow[];
  /** Running runs and, for a moment, those that have just ended: short jobs would never be seen otherwise. */
  readonly runs: readonly RunRow[];
  readonly recent: readonly ExecutionRow[];
}

const RECENT = 15;
const RUNS = 60;
const TASKS = 200;
/** How long a run that ended stays in the list of what runs now. */
export const LINGER = 4_000;

export function reduceOverview(state: OverviewState, event: LiveEvent): OverviewState {
  switch (event.kind) {
    case "TASK_CREATED":
    case "TASK_UPDATED":
      return event.task === null ? state : { ...state, tasks: upsertFirst(state.tasks, event.task, TASKS) };
    case "TASK_DELETED":
      return { ...state, tasks: without(state.tasks, event.taskId) };
    case "RUN_CREATED":
    case "RUN_UPDATED":
      return withProgressOf(withRun(withTask(state, event), event), event);
    case "EXECUTION_STARTED":
    case "EXECUTION_FINISHED":
      return withExecution(withRun(withTask(state, event), event), event);
    default:
      return state;
  }
}

function withTask(state: OverviewState, { task }: LiveEvent): OverviewState {
  return task === null ? state : { ...state, tasks: upsertFirst(state.tasks, task, TASKS) };
}

function withRun(state: OverviewState, { run, runId }: LiveEvent): OverviewState {
  if (runId === null) return state;
  if (run === null) return { ...state, runs: without(state.runs, runId) };
  if (run.state === "RUNNING") return { ...state, runs: upsertFirst(state.runs, run, RUNS) };
  const known = state.runs.some((row) => row.id === run.id);
  if (run.finishedAt !== null) {
    return known || run.startedAt !== null ? { ...state, runs: upsertFirst(state.runs, run, RUNS) } : state;
  }
  return known ? { ...state, runs: without(state.runs, run.id) } : state;
}

function withProgressOf(state: OverviewState, { run }: LiveEvent): OverviewState {
  const recent = withProgress(state.recent, run);
  return recent === state.recent ? state : { ...state, recent };
}

function withExecution(state: OverviewState, { execution, executionId }: LiveEvent): OverviewState {
  if (executionId === null) return state;
  if (execution === null) return { ...state, recent: without(state.recent, executionId) };
  return { ...state, recent: newestFirst(upsertFirst(state.recent, execution, RECENT)) };
}

function newestFirst(rows: readonly ExecutionRow[]): readonly ExecutionRow[] {
  return [...rows].sort((left, right) => Number(right.id) - Number(left.id));
}

/** What runs at this instant, longest first, then what has just ended. */
export function runsShown(runs: readonly RunRow[], now: number): readonly RunRow[] {
  return runs
    .filter((run) => run.state === "RUNNING" || (run.finishedAt !== null && now - Date.parse(run.finishedAt) < LINGER))
    .sort((left, right) => Date.parse(left.startedAt ?? left.submittedAt) - Date.parse(right.startedAt ?? right.submittedAt));
}

/** Tasks by their next execution; those without one last, by name. */
export function byNextExecution(tasks: readonly TaskRow[]): readonly TaskRow[] {
  const key = (task: TaskRow): number =>
    task.nextExecution === null || task.pausedAt !== null || !task.enabled ? Number.POSITIVE_INFINITY : Date.parse(task.nextExecution);
  return [...tasks].sort((left, right) => {
    const [a, b] = [key(left), key(right)];
    return a === b ? left.name.localeCompare(right.name) : a - b;
  });
}
