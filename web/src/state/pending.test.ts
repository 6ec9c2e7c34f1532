import { beforeEach, expect, test, vi } from "vitest";
import { beginRun, pendingRuns, stillPending } from "./pending";

beforeEach(() => {
  pendingRuns.value = [];
  vi.useFakeTimers();
});

test("a run shows from the press until an event brings it, or the server refuses", () => {
  const first = beginRun("a");
  const second = beginRun("b");
  expect(pendingRuns.value.map((run) => run.name)).toEqual(["a", "b"]);
  first.confirm("7");
  expect(stillPending(pendingRuns.value, ["7"]).map((run) => run.name)).toEqual(["b"]);
  second.drop();
  expect(pendingRuns.value.map((run) => run.runId)).toEqual(["7"]);
});

test("a confirmed run that no event brings does not stay for ever", () => {
  beginRun("a").confirm("7");
  vi.advanceTimersByTime(3_000);
  expect(pendingRuns.value).toEqual([]);
});
