import { describe, expect, test } from "vitest";
import type { ExecutionRow, LiveEvent, RunRow } from "../../api/fragments";
import { LINGER, type OverviewState, reduceOverview, runsShown } from "./model";

const NOW = Date.UTC(2026, 0, 1);
const EMPTY: OverviewState = { runs: [], recent: [] };

function event(fields: Partial<LiveEvent>): LiveEvent {
  return {
    ...fields,
  } as LiveEvent;
}
function run(id: string, state: RunRow["state"], more: Partial<RunRow> = {}): RunRow {
  return { id, state, startedAt: null, finishedAt: null, submittedAt: new Date(NOW).toISOString(), ...more } as RunRow;
}
describe("runs", () => {
  test("appear when they start, and stay for a moment after they ended", () => {
    const started = new Date(NOW - 5000).toISOString();
    let state = reduceOverview(
      EMPTY,
      event({ kind: "RUN_UPDATED", runId: "7", run: run("7", "RUNNING", { startedAt: started }) }),
    );
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
    expect(reduceOverview(state, event({ kind: "RUN_UPDATED", runId: "1", run: null })).runs).toEqual([]);
  });
});

describe("executions", () => {
  test("newest first in any order of arrival, and bounded", () => {
    let state = EMPTY;
    for (const id of [2, 1, 3, 20, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]) {
      const execution = { id: String(id) } as ExecutionRow;
      state = reduceOverview(state, event({ kind: "EXECUTION_STARTED", executionId: String(id), execution }));
    }
    expect(state.recent).toHaveLength(15);
    expect(state.recent[0]?.id).toBe("20");
  });
});

test("an event that concerns nothing here changes nothing", () => {
  expect(reduceOverview(EMPTY, event({ kind: "NODE_UPDATED" }))).toBe(EMPTY);
});
