import { expect, test } from "vitest";
import { groupLimits } from "./limits";

const FREE = { running: 2, scheduled: 1, waiting: 7, tokens: null, maxRunning: null, maxWaitLow: null, rate: null, cap: null };

test("a group without limits has no lines", () => expect(groupLimits(FREE)).toEqual([]));
test("each limit is a line that says what is used", () => {
  expect(groupLimits({ ...FREE, maxRunning: 5, rate: { limit: 100, per: 60 }, tokens: 3, cap: { limit: 500 }, maxWaitLow: 600 })).toEqual([
    "3 of 5 at once",
    "100 in 1 m 00 s, 3 left",
    "7 of 500 wait",
    "low waits 10 m 00 s at most",
  ]);
});
test("more may wait than a cap that was lowered says", () => {
  expect(groupLimits({ ...FREE, cap: { limit: 5 } })).toEqual(["7 of 5 wait"]);
});
test("a rate for less than a second", () => {
  expect(groupLimits({ ...FREE, rate: { limit: 1, per: 0.5 } })).toEqual(["1 in 500 ms, 0 left"]);
});
