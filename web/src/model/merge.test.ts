import { expect, test } from "vitest";
import { changesOf, merged } from "./merge";
import { EMPTY_FORM, type TaskForm } from "./task-form";

const OPENED: TaskForm = { ...EMPTY_FORM, name: "a", jobName: "mail", value: "0 0 9 * * *", description: "old" };

test("a field that only the other one has changed is taken without a question", () => {
  const stored = { ...OPENED, description: "theirs" };
  const changes = changesOf(OPENED, stored, { group: "mine" });
  expect(changes).toMatchObject([{ label: "Description", before: "old", mine: null, theirs: "theirs" }]);
  expect(merged(OPENED, stored, { group: "mine" }, changes, {})).toEqual({
    ...OPENED,
    description: "theirs",
    group: "mine",
  });
});

test("a field that both have changed is kept as it is typed until theirs is chosen", () => {
  const stored = { ...OPENED, description: "theirs" };
  const typed = { description: "mine" };
  const changes = changesOf(OPENED, stored, typed);
  expect(changes).toMatchObject([{ label: "Description", mine: "mine", theirs: "theirs" }]);
  expect(merged(OPENED, stored, typed, changes, {}).description).toBe("mine");
  expect(merged(OPENED, stored, typed, changes, { Description: "theirs" }).description).toBe("theirs");
});

test("the parts of a schedule are chosen together", () => {
  const stored = { ...OPENED, syntax: "INTERVAL" as const, value: "1h" };
  const typed = { value: "0 0 10 * * *" };
  const changes = changesOf(OPENED, stored, typed);
  expect(changes).toMatchObject([{ label: "Schedule", mine: "CRON 0 0 10 * * * UTC", theirs: "INTERVAL 1h UTC" }]);
  expect(merged(OPENED, stored, typed, changes, { Schedule: "mine" })).toMatchObject({
    syntax: "CRON",
    value: "0 0 10 * * *",
  });
  expect(merged(OPENED, stored, typed, changes, { Schedule: "theirs" })).toMatchObject({
    syntax: "INTERVAL",
    value: "1h",
  });
});

test("the same change on both sides is none", () => {
  const stored = { ...OPENED, description: "same" };
  expect(changesOf(OPENED, stored, { description: "same" })).toEqual([]);
});
