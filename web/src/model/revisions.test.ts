import { expect, test } from "vitest";
import { fieldLabel, fieldsOf, linesOf, type Revision, valueText, wayBack } from "./revisions";

function revision(id: string, changes: Revision["changes"], more: Partial<Revision> = {}): Revision {
  return { id, kind: "TASK", name: "t", isMade: false, isDeleted: false, changes, ...more };
}

test("fields and values read as people write them", () => {
  expect(["retryDelay", "pause_reason", "args", "argsSchema"].map(fieldLabel)).toEqual([
    "retry delay",
    "pause reason",
    "arguments",
    "form of the arguments",
  ]);
  expect(
    [
      null,
      "",
      true,
      7,
      [],
      ["a", "b"],
      { $hidden: true },
      { syntax: "CRON", value: "0 0 1 * * *", timezone: "UTC" },
      { limit: 6, per: 60, burst: 1 },
      {},
      { a: 1 },
    ].map(valueText),
  ).toEqual([
    "none",
    "none",
    "yes",
    "7",
    "none",
    "a, b",
    "(hidden)",
    "0 0 1 * * * (UTC)",
    "6/1m, 1 at once",
    "none",
    '{"a":1}',
  ]);
});

test("arguments show by member, and a hidden one that it was changed", () => {
  const change = {
    field: "args",
    before: { n: 1, same: [1], password: { $hidden: true } },
    after: { n: 2, same: [1], password: { $hidden: true } },
  };
  expect(linesOf(revision("1", [change, { field: "inherits", before: ["retries"], after: [] }]))).toEqual([
    { label: "argument n", before: "1", after: "2" },
    { label: "argument password", before: "(hidden)", after: "(hidden), another one" },
  ]);
  const whole = { field: "args", before: { $hidden: true }, after: { n: 1 } };
  expect(linesOf(revision("1", [whole]))).toEqual([{ label: "arguments", before: "(hidden)", after: '{"n":1}' }]);
});

test("a thing that was made or is gone has one side", () => {
  const retries = { field: "retries", before: null, after: 3 };
  expect(linesOf(revision("1", [retries], { isMade: true }))).toEqual([{ label: "retries", before: null, after: "3" }]);
  const gone = { field: "retries", before: 3, after: null };
  expect(linesOf(revision("1", [gone], { isDeleted: true }))).toEqual([{ label: "retries", before: "3", after: null }]);
});

test("the way back takes the oldest value after the revision, and leaves pauses alone", () => {
  const newest = revision("4", [{ field: "retries", before: 5, after: 7 }]);
  const paused = revision("3", [{ field: "enabled", before: true, after: false }]);
  const older = revision("2", [
    { field: "retries", before: 3, after: 5 },
    { field: "group", before: "default", after: "mail" },
  ]);
  const first = revision("1", [], { isMade: true });
  const other = revision("5", [{ field: "retries", before: 1, after: 2 }], { name: "other" });
  const all = [other, newest, paused, older, first];
  expect(wayBack(all, "1")).toEqual([
    { label: "retries", before: "7", after: "3" },
    { label: "group", before: "mail", after: "default" },
  ]);
  expect(wayBack(all, "2")).toEqual([{ label: "retries", before: "7", after: "5" }]);
  expect(wayBack(all, "4")).toBeNull();
  expect(wayBack([paused, older], "2")).toBeNull();
  expect(wayBack([revision("9", [], { isDeleted: true }), older], "2")).toBeNull();
  expect(wayBack(all, "nope")).toBeNull();
});

test("of a job only its rate goes back", () => {
  const code = revision("2", [{ field: "argsSchema", before: "a", after: "b" }], { kind: "JOB" });
  const made = revision("1", [{ field: "rate", before: null, after: { limit: 1, per: 1, burst: 1 } }], { kind: "JOB" });
  expect(wayBack([code, made], "1")).toBeNull();
  const gone = revision("3", [{ field: "rate", before: { limit: 1, per: 1, burst: 1 }, after: null }], { kind: "JOB" });
  expect(wayBack([gone, code, made], "1")).toEqual([
    { label: "starts at most", before: "none", after: "1/1s, 1 at once" },
  ]);
});

test("an entry of the audit log shows the fields of both sides, or none", () => {
  expect(fieldsOf({ role: "viewer" }, { role: "admin" })).toEqual([
    { field: "role", before: "viewer", after: "admin" },
  ]);
  expect(fieldsOf("torn", null)).toBeNull();
});
