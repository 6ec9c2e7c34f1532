import { expect, test } from "vitest";
import { courseOf } from "./course";

const AT = { submitted: "2026-01-01T00:00:00Z", due: "2026-01-01T01:00:00Z", started: "2026-01-01T01:00:02Z", ended: "2026-01-01T01:00:09Z" };
const RUN = { submittedAt: AT.submitted, availableAt: AT.due, startedAt: AT.started, completedAt: AT.ended, outcome: "success" };

function names(...course: Parameters<typeof courseOf>): readonly string[] {
  return courseOf(...course).map((step) => step.name);
}

test("a run that was made for later was queued, due, started, and ended as something", () => {
  expect(names(RUN)).toEqual(["queued", "due", "started", "success"]);
  expect(names({ ...RUN, availableAt: AT.submitted })).toEqual(["queued", "started", "success"]);
});

test("what waits shows when it will be due", () => {
  expect(names({ ...RUN, startedAt: null, completedAt: null })).toEqual(["queued", "due"]);
});

test("what is stuck shows its last attempt and the next", () => {
  const steps = courseOf({ ...RUN, availableAt: "2026-01-01T02:00:00Z", completedAt: null, stuck: true });
  expect(steps.at(-1)).toEqual({ name: "next attempt", at: "2026-01-01T02:00:00Z" });
  expect(steps.map((step) => step.name)).toEqual(["queued", "last attempt", "next attempt"]);
});
