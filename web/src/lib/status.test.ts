import { expect, test } from "vitest";
import { executionStatus, statusView, taskStatus } from "./status";

const task = { isEnabled: true, pausedAt: null, isFinished: false, isJobKnown: true, isStalled: false };

test("an open execution runs, an ended one shows its outcome", () => {
  expect(executionStatus({ outcome: null, success: null, completedAt: null })).toBe("RUNNING");
  expect(executionStatus({ outcome: "TIMED_OUT", success: false, completedAt: "2026-01-01T00:00:00Z" })).toBe(
    "TIMED_OUT",
  );
  expect(executionStatus({ outcome: null, success: false, completedAt: "2026-01-01T00:00:00Z" })).toBe("FAILED");
});

test("a task shows what is most urgent", () => {
  expect(taskStatus(task)).toBe("ENABLED");
  expect(taskStatus({ ...task, isStalled: true })).toBe("STALLED");
  expect(taskStatus({ ...task, isStalled: true, pausedAt: "2026-01-01T00:00:00Z" })).toBe("PAUSED");
  expect(taskStatus({ ...task, isJobKnown: false })).toBe("NO_JOB");
});

test("a state of a newer server is shown as words", () => {
  expect(statusView("HALF_DONE").word).toBe("half done");
});

test("what failed is loud, what went well or was cancelled is not", () => {
  const isLoud = (name: string): boolean => statusView(name).tone === "bad";
  expect(["FAILED", "TIMED_OUT", "LOST"].every(isLoud)).toBe(true);
  expect(["SUCCESS", "SNOOZED", "RUNNING", "CANCELLED"].some(isLoud)).toBe(false);
});
