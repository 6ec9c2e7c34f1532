import { expect, test } from "vitest";
import type { RunRow } from "../api/fragments";
import { compareRuns, matchesRunsFilter, readRunsFilter, runActions, runsFilterInput } from "./run-filter";

function read(query: string) {
  return readRunsFilter(new URLSearchParams(query));
}

test("without a tab everything unfinished is listed", () => {
  expect(runsFilterInput(read(""))).toEqual({
    state: { in: ["RUNNING", "SCHEDULED", "STUCK", "SUSPENDED", "WAITING"] },
  });
});

test("each parameter becomes a condition, nonsense none", () => {
  expect(runsFilterInput(read("state=STUCK&group=eu&priority=HIGH&q=imp&job=import&label=team:a"))).toEqual({
    state: { eq: "STUCK" },
    group: { eq: "eu" },
    jobName: { eq: "import" },
    priority: { eq: "HIGH" },
    labels: { key: "team", eq: "a" },
    or: [{ jobName: { contains: "imp" } }, { taskName: { contains: "imp" } }],
  });
  expect(read("state=DONE&priority=MIDDLE")).toEqual({ tab: "", q: "", job: "", group: "", priority: "", label: "" });
});

test("what can be done depends on the state", () => {
  expect(runActions("STUCK")).toEqual({ cancel: true, retry: false, retryNow: true, priority: true, edit: true });
  expect(runActions("RUNNING")).toEqual({ cancel: true, retry: false, retryNow: false, priority: false, edit: false });
  expect(runActions("FAILED")).toEqual({ cancel: false, retry: true, retryNow: false, priority: false, edit: false });
});

test("events are judged by the filter that the server gets", () => {
  const run = {
    id: "1",
    state: "WAITING",
    group: "a",
    priority: "LOW",
    jobName: "import",
    taskName: "Nightly",
    labels: { team: "a" },
  } as unknown as RunRow;
  const matches = (search: string): boolean => matchesRunsFilter(readRunsFilter(new URLSearchParams(search)), run);
  expect(["", "state=WAITING", "q=night&group=a", "q=IMPORT", "job=import", "label=team:a"].map(matches)).toEqual([
    true,
    true,
    true,
    true,
    true,
    true,
  ]);
  expect(["state=RUNNING", "group=b", "priority=HIGH", "q=other", "job=imp", "label=team:b"].map(matches)).toEqual([
    false,
    false,
    false,
    false,
    false,
    false,
  ]);
});

test("what waits stands by its time, what is over by its number, newest first", () => {
  const rows = [
    { id: "9", availableAt: "a" },
    { id: "10", availableAt: "a" },
    { id: "3", availableAt: "b" },
  ] as RunRow[];
  expect([...rows].sort(compareRuns("")).map((run) => run.id)).toEqual(["9", "10", "3"]);
  expect([...rows].sort(compareRuns("FAILED")).map((run) => run.id)).toEqual(["10", "9", "3"]);
});
