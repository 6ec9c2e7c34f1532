import { expect, test } from "vitest";
import { type Attempt, type Course, courseOf, frameOf, type Phase, placeIn } from "./course";

const DAY = "2026-01-01T00:00:";

function at(second: number): string {
  return `${DAY}${String(second).padStart(2, "0")}Z`;
}

function attempt(number: number, from: number, to: number | null, outcome: string | null = "FAILED"): Attempt {
  return {
    id: String(number),
    attempt: number,
    startedAt: at(from),
    completedAt: to === null ? null : at(to),
    outcome: to === null ? null : outcome,
  };
}

function run(more: Partial<Course> = {}): Course {
  return { submittedAt: at(0), availableAt: at(0), finishedAt: null, state: "RUNNING", ...more };
}

/** The phases as `name from–to` in seconds. */
function told(...course: Parameters<typeof courseOf>): readonly string[] {
  const start = Date.parse(at(0));
  return courseOf(...course).map(
    ({ name, from, to }) => `${name} ${(from - start) / 1000}–${to === null ? "" : (to - start) / 1000}`,
  );
}

test("a failed attempt and the wait after it are seen, not folded into the queue", () => {
  const done = run({ state: "SUCCESS", finishedAt: at(20), availableAt: at(11) });
  expect(told(done, [attempt(1, 1, 4), attempt(2, 12, 20, "SUCCESS")])).toEqual([
    "queued 0–1",
    "attempt 1 1–4",
    "back-off 4–12",
    "attempt 2 12–20",
  ]);
});

test("attempts may come in any order", () => {
  expect(told(run(), [attempt(2, 12, null), attempt(1, 1, 4)])).toEqual([
    "queued 0–1",
    "attempt 1 1–4",
    "back-off 4–12",
    "attempt 2 12–",
  ]);
});

test("the wait until it was due is not the queue's", () => {
  expect(told(run({ availableAt: at(10) }), [attempt(1, 12, null)])).toEqual([
    "not due yet 0–10",
    "queued 10–12",
    "attempt 1 12–",
  ]);
  expect(told(run({ availableAt: at(10), state: "WAITING" }), [])).toEqual(["not due yet 0–10", "queued 10–"]);
});

test("what is suspended waits until nobody knows when", () => {
  const ended = { ...attempt(1, 1, 4), outcome: "SUSPENDED" };
  expect(told(run({ state: "SUSPENDED", availableAt: at(0) }), [ended])).toEqual([
    "queued 0–1",
    "attempt 1 1–4",
    "suspended 4–",
  ]);
});

test("what is stuck shows until when it holds off", () => {
  expect(told(run({ state: "STUCK", availableAt: at(30) }), [attempt(1, 1, 4)])).toEqual([
    "queued 0–1",
    "attempt 1 1–4",
    "back-off 4–30",
    "queued 30–",
  ]);
});

test("a run that was handed back, or snoozed, says so", () => {
  expect(told(run(), [attempt(1, 1, 4, "HANDED_BACK"), attempt(2, 6, null)])).toContain("handed back 4–6");
  expect(told(run(), [attempt(1, 1, 4, "SNOOZED"), attempt(2, 6, null)])).toContain("snoozed 4–6");
});

test("what was cancelled while it waited ends there", () => {
  expect(told(run({ state: "CANCELLED", finishedAt: at(9) }), [])).toEqual(["queued 0–9"]);
  expect(told(run({ state: "CANCELLED", finishedAt: at(9), availableAt: at(30) }), [attempt(1, 1, 4)])).toEqual([
    "queued 0–1",
    "attempt 1 1–4",
    "back-off 4–9",
  ]);
});

test("attempts that are left out are one wait", () => {
  expect(told(run(), [attempt(8, 30, null)], true)).toEqual(["earlier attempts 0–30", "attempt 8 30–"]);
});

/** Where phases lie among themselves. */
function placed(phases: readonly Phase[], now: number) {
  return phases.map((phase) => placeIn(frameOf(phases, now), phase, now));
}

test("widths are in proportion, and what lasts reaches to now", () => {
  const phases = courseOf(run(), [attempt(1, 10, null)]);
  expect(placed(phases, Date.parse(at(40)))).toEqual([
    { left: 0, width: 0.25 },
    { left: 0.25, width: 0.75 },
  ]);
  expect(
    placed(courseOf(run({ state: "STUCK", availableAt: at(30) }), [attempt(1, 0, 10)]), Date.parse(at(15))).at(-1),
  ).toEqual({ left: 1, width: 0 });
});

test("a frame that shows a part cuts what reaches out of it, and leaves out the rest", () => {
  const phases = courseOf(run({ state: "SUCCESS", finishedAt: at(30) }), [
    attempt(1, 10, 20),
    attempt(2, 25, 30, "SUCCESS"),
  ]);
  const part = { from: Date.parse(at(5)), to: Date.parse(at(15)) };
  expect(phases.map((phase) => placeIn(part, phase, 0))).toEqual([
    { left: 0, width: 0.5 },
    { left: 0.5, width: 0.5 },
    null,
    null,
  ]);
});
