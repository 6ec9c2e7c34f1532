import { expect, test } from "vitest";
import type { RunRow } from "../api/fragments";
import { compareRuns, matchesRunsFilter, readRunsFilter, runActions, runsFilterInput } from "./run-filter";

const NOW = Date.UTC(2026, 0, 2);

function read(query: string) {
  return readRunsFilter(new URLSearchParams(query));
}

test("without a tab everything unfinished is listed", () => {
  expect(runsFilterInput(read(""), NOW)).toEqual({
    state: { in: ["RUNNING", "SCHEDULED", "STUCK", "SUSPENDED", "WAITING"] },
  });
});

test("each parameter becomes a condition, nonsense none", () => {
  const search =
    "state=STUCK&group=eu&priority=HIGH&q=imp&job=import&task=nightly&label=team:a&trigger=API&node=n1&error=time&flow=7&range=24h&arg=customer:42";
  expect(runsFilterInput(read(search), NOW)).toEqual({
    state: { eq: "STUCK" },
    group: { eq: "eu" },
    jobName: { eq: "import" },
    taskName: { eq: "nightly" },
    priority: { eq: "HIGH" },
    trigger: { eq: "API" },
    node: { contains: "n1" },
    error: { contains: "time" },
    flowId: { eq: "7" },
    submittedAt: { gte: "2026-01-01T00:00:00.000Z" },
    labels: { key: "team", eq: "a" },
    and: [{ or: [{ args: { path: "customer", eq: "42" } }, { args: { path: "customer", eq: 42 } }] }],
    or: [{ jobName: { contains: "imp" } }, { taskName: { contains: "imp" } }],
  });
  const nonsense = read("state=DONE&priority=MIDDLE&trigger=X&flow=a&range=2y");
  expect(new Set(Object.values(nonsense))).toEqual(new Set([""]));
  expect(runsFilterInput(read("state=all"), NOW)).toEqual({});
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
    error: "ValueError: no",
    node: null,
    trigger: "API",
  } as unknown as RunRow;
  const matches = (search: string): boolean | null =>
    matchesRunsFilter(readRunsFilter(new URLSearchParams(search)), run);
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

test("whether the arguments of a run match the server alone says", () => {
  const run = { state: "FAILED", jobName: "import", taskName: null, error: "no", labels: {} } as RunRow;
  expect(matchesRunsFilter(read("state=ALL&arg=customer:42"), run)).toBeNull();
  expect(matchesRunsFilter(read("state=FAILED&error=NO"), run)).toBe(true);
  expect(matchesRunsFilter(read("state=FAILED&error=other&arg=customer:42"), run)).toBe(false);
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
