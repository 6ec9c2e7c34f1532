import { type ExecutionRow, executionOf, type LiveEvent, type RunRow } from "../../api/fragments";
import { upsertFirst, without, withProgress } from "../../model/rows";

/** What of the overview page events change: what runs, and the newest executions. */
export interface OverviewState {
  /** Running runs and, for a moment, those that have just ended: short jobs would never be seen otherwise. */
  readonly runs: readonly RunRow[];
  readonly recent: readonly ExecutionRow[];
}

const RECENT = 15;
const RUNS = 60;
/** How long a run that ended stays in the list of what runs now. */
export const LINGER = 4_000;

export function reduceOverview(state: OverviewState, event: LiveEvent): OverviewState {
  switch (event.kind) {
    case "RUN_CREATED":
    case "RUN_UPDATED":
      return withProgressOf(withRun(state, event), event);
    case "EXECUTION_STARTED":
    case "EXECUTION_FINISHED":
      return withExecution(withRun(state, event), event);
    default:
      return state;
  }
}

function withRun(state: OverviewState, { run, runId }: LiveEvent): OverviewState {
  if (runId === undefined || run === undefined) return state;
  if (run === null) return { ...state, runs: without(state.runs, runId) };
  if (run.state === "RUNNING") return { ...state, runs: upsertFirst(state.runs, run, RUNS) };
  const known = state.runs.some((row) => row.id === run.id);
  if (run.finishedAt !== null) {
    return known || run.startedAt !== null ? { ...state, runs: upsertFirst(state.runs, run, RUNS) } : state;
  }
  return known ? { ...state, runs: without(state.runs, run.id) } : state;
}

function withProgressOf(state: OverviewState, { run }: LiveEvent): OverviewState {
  const recent = withProgress(state.recent, run ?? null);
  return recent === state.recent ? state : { ...state, recent };
}

function withExecution(state: OverviewState, event: LiveEvent): OverviewState {
  const { executionId } = event;
  if (executionId === undefined || event.execution === undefined) return state;
  const execution = executionOf(event);
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
    .sort(
      (left, right) =>
        Date.parse(left.startedAt ?? left.submittedAt) - Date.parse(right.startedAt ?? right.submittedAt),
    );
}
