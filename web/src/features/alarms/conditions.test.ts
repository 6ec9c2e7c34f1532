import { expect, test } from "vitest";
import { CONDITIONS, conditionOf, conditionsOf, faultsOf, subjectOf } from "./conditions";

function form(key: string) {
  const found = CONDITIONS.find((each) => each.key === key);
  if (found === undefined) throw new Error(key);
  return found;
}

const typed = (count: string, unit: "s" | "m" | "h" | "d" = "s") => ({ count, unit });

test("each kind of thing has the conditions that the server takes for it", () => {
  expect(conditionsOf("TASK").map(({ key }) => key)).toEqual([
    "late",
    "overdue",
    "failing",
    "newError",
    "slow",
    "empty",
  ]);
  expect(conditionsOf("JOB").map(({ key }) => key)).toEqual(["failing", "newError", "slow", "empty"]);
  expect(conditionsOf("GROUP").map(({ key }) => key)).toContain("backlog");
  expect(conditionsOf("NODE").map(({ key }) => key)).toEqual(["node", "idle", "skew"]);
  expect(conditionsOf("DATABASE").map(({ key }) => key)).toEqual(["database"]);
});

test("what is typed becomes the condition, and an empty field its default", () => {
  expect(conditionOf(form("late"), {})).toEqual({ late: {} });
  expect(conditionOf(form("late"), { grace: typed("5", "m") })).toEqual({ late: { grace: 300 } });
  expect(conditionOf(form("overdue"), { dueBy: typed("06:00"), after: typed(" ") })).toEqual({
    overdue: { dueBy: "06:00" },
  });
  expect(conditionOf(form("failing"), { failedShare: typed("50"), ofRuns: typed("20") })).toEqual({
    failing: { failedShare: 0.5, ofRuns: 20 },
  });
  expect(conditionOf(form("slow"), { timesP95: typed("2.5") })).toEqual({ slow: { timesP95: 2.5 } });
  expect(conditionOf(form("database"), { largerThan: typed("1.5") })).toEqual({
    database: { largerThan: 1_500_000_000 },
  });
  expect(conditionOf(form("node"), {})).toEqual({ node: true });
});

test("what cannot be sent is said at its field", () => {
  const faults = (key: string, values: Record<string, ReturnType<typeof typed>>) => [
    ...faultsOf(form(key), values).keys(),
  ];
  expect(faults("overdue", { dueBy: typed("6 o'clock"), after: typed("soon") })).toEqual(["dueBy", "after"]);
  expect(faults("overdue", { dueBy: typed("24:00") })).toEqual(["dueBy"]);
  expect(faults("failing", { failedRuns: typed("1.5"), failedShare: typed("101"), ofRuns: typed("20") })).toEqual([
    "failedRuns",
    "failedShare",
  ]);
  expect(faults("slow", { after: typed("90"), timesP95: typed("") })).toEqual([]);
  expect(faults("slow", { after: typed("90"), timesP95: typed("2") })).toEqual(["after"]);
  expect(faults("slow", {})).toEqual(["after"]);
  expect(faults("failing", {})).toEqual([]);
});

test("the subject is named as the API does", () => {
  expect((["TASK", "JOB", "GROUP", "NODE", "DATABASE"] as const).map((kind) => subjectOf({ kind, name: "a" }))).toEqual(
    [{ task: "a" }, { job: "a" }, { group: "a" }, { node: "a" }, { database: true }],
  );
  expect(subjectOf({ kind: "NODE", name: "" })).toEqual({ anyNode: true });
});
