import { describe, expect, test } from "vitest";
import type { ExecutionRow, LiveEvent, RunRow, TaskRow } from "../graphql/fragments";
import { byNextExecution, LINGER, type OverviewState, reduceOverview, runsShown } from "./overview";

const NOW = Date.UTC(2026, 0, 1);
const EMPTY: OverviewState = { tasks: [], runs: [], recent: [] };

function event(fields: Partial<LiveEvent>): LiveEvent {
  return { taskId: null, runId: null, executionId: null, task: null, run: null, execution: null, node: null, group: null, ...fields } as LiveEvent;
}
function run(id: string, state: RunRow["state"], more: Partial<RunRow> = {}): RunRow {
  return { id, state, startedAt: null, finishedAt: null, submittedAt: new Date(NOW).toISOString(), ...more } as RunRow;
}
function task(name: string, more: Partial<TaskRow> = {}): TaskRow {
  return { id: name, name, enabled: true, pausedAt: null, nextExecution: null, ...more } as TaskRow;
}

describe("runs", () => {
  test("appear when they start, and stay for a moment after they ended", () => {
    const started = new Date(NOW - 5000).toISOString();
    let state = reduceOverview(EMPTY, event({ kind: "RUN_UPDATED", runId: "7", run: run("7", "RUNNING", { startedAt: started }) }));
    expect(runsShown(state.runs, NOW)).toHaveLength(1);
    const ended = run("7", "SUCCESS", { startedAt: started, finishedAt: new Date(NOW).toISOString() });
    state = reduceOverview(state, event({ kind: "RUN_UPDATED", runId: "7", run: ended }));
    expect(runsShown(state.runs, NOW + LINGER - 1)).toHaveLength(1);
    expect(runsShown(state.runs, NOW + LINGER)).toHaveLength(0);
  });

  test("that wait, or go back to waiting, are not shown", () => {
    let state = reduceOverview(EMPTY, event({ kind: "RUN_CREATED", runId: "1", run: run("1", "WAITING") }));
    expect(state.runs).toHaveLength(0);
    state = reduceOverview(state, event({ kind: "RUN_UPDATED", runId: "1", run: run("1", "RUNNING") }));
    state = reduceOverview(state, event({ kind: "RUN_UPDATED", runId: "1", run: run("1", "STUCK") }));
    expect(state.runs).toHaveLength(0);
  });

  test("that were deleted go", () => {
    const state = { ...EMPTY, runs: [run("1", "RUNNING")] };
    expect(reduceOverview(state, event({ kind: "RUN_UPDATED", runId: "1" })).runs).toEqual([]);
  });
});

describe("executions", () => {
  test("newest first whatever the order of arrival, and bounded", () => {
    let state = EMPTY;
    for (const id of [2, 1, 3, 20, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]) {
      const execution = { id: String(id) } as ExecutionRow;
      state = reduceOverview(state, event({ kind: "EXECUTION_STARTED", executionId: String(id), execution }));
    }
    expect(state.recent).toHaveLength(15);
    expect(state.recent[0]?.id).toBe("20");
  });
});

describe("tasks", () => {
  test("are created, changed and deleted by events", () => {
    let state = reduceOverview(EMPTY, event({ kind: "TASK_CREATED", taskId: "a", task: task("a") }));
    state = reduceOverview(state, event({ kind: "TASK_UPDATED", taskId: "a", task: task("a", { pausedAt: "x" }) }));
    expect(state.tasks).toMatchObject([{ name: "a", pausedAt: "x" }]);
    expect(reduceOverview(state, event({ kind: "TASK_DELETED", taskId: "a" })).tasks).toEqual([]);
  });

  test("are ordered by their next execution, paused ones last", () => {
    const tasks = [
      task("late", { nextExecution: "2026-01-02T00:00:00Z" }),
      task("none"),
      task("paused", { nextExecution: "2026-01-01T00:00:01Z", pausedAt: "2026-01-01T00:00:00Z" }),
      task("soon", { nextExecution: "2026-01-01T00:00:05Z" }),
    ];
    expect(byNextExecution(tasks).map((row) => row.name)).toEqual(["soon", "late", "none", "paused"]);
  });
});

test("an event that concerns nothing here changes nothing", () => {
  expect(reduceOverview(EMPTY, event({ kind: "NODE_UPDATED" }))).toBe(EMPTY);
});
