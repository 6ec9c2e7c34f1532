import { expect, test } from "vitest";
import { type Condition, worstOf } from "./worst";

const NOW = Date.UTC(2026, 0, 1);
const WELL: Condition = { now: NOW, liveNodes: 2, unknownJobs: [], runsOfUnknownJobs: 0, firstDue: NOW + 5_000 };

test("a healthy server has nothing to say, nor one that is a few seconds late", () => {
  expect(worstOf(WELL)).toBeNull();
  expect(worstOf({ ...WELL, firstDue: NOW - 10_000 })).toBeNull();
});

test("the worst is said, one at a time", () => {
  const ill: Condition = { ...WELL, liveNodes: 0, unknownJobs: ["a"], runsOfUnknownJobs: 3, firstDue: NOW - 40_000 };
  expect(worstOf(ill)?.text).toBe("No node is alive: nothing runs");
  expect(worstOf({ ...ill, liveNodes: 1 })?.text).toBe("Dispatch is 40 s late: tasks that are due have made no runs");
  expect(worstOf({ ...ill, liveNodes: 1, firstDue: null })?.text).toBe("3 runs wait because no node knows a");
});

test("many runs of many jobs are said in numbers that are known, and by names", () => {
  const jobs = Array.from({ length: 200 }, (_, index) => `job${index}`);
  const text = (unknownJobs: readonly string[], runsOfUnknownJobs: number) =>
    worstOf({ ...WELL, unknownJobs, runsOfUnknownJobs })?.text;
  expect(text(jobs, 10_001)).toBe("More than 10,000 runs wait because no node knows jobs such as job0 and job1");
  expect(text(jobs, 200)).toBe("200 runs wait because no node knows job0, job1 and 198 other jobs");
  expect(text(["a", "b"], 2)).toBe("2 runs wait because no node knows a and b");
  expect(text(["a"], 1)).toBe("1 run waits because no node knows a");
  expect(text(["a"], 500)).toBe("500 runs wait because no node knows jobs such as a");
});
