import { expect, test } from "vitest";
import type { TaskRow } from "../../api/fragments";
import { matchesTasksFilter, readTasksFilter, TASK_ORDERS, tasksFilterInput } from "./task-filter";

function filter(search: string) {
  return readTasksFilter(new URLSearchParams(search));
}

function task(fields: Partial<TaskRow>): TaskRow {
  return {
    id: "1",
    name: "nightly",
    jobName: "report",
    group: "default",
    owner: null,
    pausedAt: null,
    nextExecutionAt: null,
    ...fields,
  } as TaskRow;
}

test("the filter that the server gets is the one by which events are judged", () => {
  expect(tasksFilterInput(filter("state=paused&group=a"))).toEqual({ pausedAt: { isNull: false }, group: { eq: "a" } });
  expect(matchesTasksFilter(filter("state=paused&group=a"), task({ pausedAt: "x", group: "a" }))).toBe(true);
  expect(matchesTasksFilter(filter("state=paused"), task({}))).toBe(false);
  expect(matchesTasksFilter(filter("state=on"), task({}))).toBe(true);
  expect(matchesTasksFilter(filter("q=REP"), task({}))).toBe(true);
  expect(matchesTasksFilter(filter("q=tenant"), task({ owner: "tenant:1" }))).toBe(true);
  expect(matchesTasksFilter(filter("owner=tenant"), task({ owner: "tenant:1" }))).toBe(false);
  expect(tasksFilterInput(filter("label=team:a"))).toEqual({ labels: { key: "team", eq: "a" } });
  expect(["a", "b"].map((team) => matchesTasksFilter(filter("label=team:a"), task({ labels: { team } })))).toEqual([
    true,
    false,
  ]);
});

test("what makes no sense in the address counts as nothing", () => {
  expect(tasksFilterInput(filter("state=up&sort=sideways"))).toBeNull();
  expect(filter("sort=sideways").sort).toBe("name");
});

test("tasks stand by their next time, those without one last", () => {
  const rows = [
    task({ id: "1" }),
    task({ id: "2", nextExecutionAt: "2026-02-01T00:00:00Z" }),
    task({ id: "3", nextExecutionAt: "2026-01-01T00:00:00Z" }),
  ];
  expect([...rows].sort((left, right) => TASK_ORDERS.next.compare(left, right) ?? 0).map((row) => row.id)).toEqual([
    "3",
    "2",
    "1",
  ]);
  expect(TASK_ORDERS.started.compare(task({}), task({}))).toBeNull();
});
