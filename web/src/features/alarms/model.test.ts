import { expect, test } from "vitest";
import { aboutAny, alarmsIn, resultsIn, tellsOfMessages } from "./model";

test("a message names its alarms", () => {
  expect(alarmsIn({ payload: { data: { alarms: [{ alarm: "late" }, { alarm: "slow" }, {}] } } })).toEqual([
    "late",
    "slow",
  ]);
  expect(alarmsIn({ payload: null })).toEqual([]);
});

test("a filter names any of some things", () => {
  expect(aboutAny([{ kind: "TASK", name: "a" }])).toEqual({
    or: [{ subjectKind: { eq: "TASK" }, subject: { eq: "a" } }],
  });
});

test("a message to a webhook has results", () => {
  expect(resultsIn({ payload: { data: { events: [{}, {}] } } })).toBe(2);
  expect([resultsIn({ payload: { data: { alarms: [{}] } } }), resultsIn({ payload: null })]).toEqual([0, 0]);
});

test("events about messages tell of them", () => {
  expect(["DELIVERIES_UPDATED", "ALARM_FIRED"].map((kind) => tellsOfMessages({ kind }))).toEqual([true, false]);
});
