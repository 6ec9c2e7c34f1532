import { expect, test } from "vitest";
import { readRunsFilter, runActions, runsFilterInput } from "./run-filter";

function read(query: string) {
  return readRunsFilter(new URLSearchParams(query));
}

test("without a tab everything unfinished is listed", () => {
  expect(runsFilterInput(read(""))).toEqual({ state: { in: ["RUNNING", "SCHEDULED", "STUCK", "WAITING"] } });
});

test("each parameter becomes a condition, nonsense none", () => {
  expect(runsFilterInput(read("state=STUCK&group=eu&priority=HIGH&q=imp"))).toEqual({
    state: { eq: "STUCK" },
    group: { eq: "eu" },
    priority: { eq: "HIGH" },
    or: [{ jobName: { contains: "imp" } }, { taskName: { contains: "imp" } }],
  });
  expect(read("state=DONE&priority=MIDDLE")).toEqual({ tab: "", q: "", group: "", priority: "" });
});

test("what can be done depends on the state", () => {
  expect(runActions("STUCK")).toEqual({ cancel: true, retry: false, retryNow: true, priority: true });
  expect(runActions("RUNNING")).toEqual({ cancel: true, retry: false, retryNow: false, priority: false });
  expect(runActions("FAILED")).toEqual({ cancel: false, retry: true, retryNow: false, priority: false });
});
