import { expect, test } from "vitest";
import { groupLimits, limitsOfAll, rateText, readRate, usesOf } from "./limits";

const FREE = {
  running: 2,
  scheduled: 1,
  waiting: 7,
  tokens: null,
  maxRunning: null,
  maxWaitLow: null,
  keep: null,
  rate: null,
  cap: null,
};

test("a group without limits has no lines", () => expect(groupLimits(FREE)).toEqual([]));
test("each limit is a line that says what is used", () => {
  expect(
    groupLimits({
      ...FREE,
      maxRunning: 5,
      rate: { limit: 100, per: 60 },
      tokens: 3,
      cap: { limit: 500 },
      maxWaitLow: 600,
      keep: 604_800,
    }),
  ).toEqual([
    "3 of 5 at once",
    "100 in 1 m 00 s, 3 left",
    "7 of 500 wait",
    "low waits 10 m 00 s at most",
    "history kept 7 d 00 h",
  ]);
});
test("more may wait than a cap that was lowered says", () => {
  expect(groupLimits({ ...FREE, cap: { limit: 5 } })).toEqual(["7 of 5 wait"]);
});
test("a rate for less than a second", () => {
  expect(groupLimits({ ...FREE, rate: { limit: 1, per: 0.5 } })).toEqual(["1 in 500 ms, 0 left"]);
});
test("a rate is read as it is written", () => {
  for (const text of ["100/1m, 20 at once", "1/1d, 1 at once", "5/90s, 2 at once", "3/0.5s, 1 at once"]) {
    const rate = readRate(text);
    expect(typeof rate === "string" ? rate : rateText(rate)).toBe(text);
  }
  expect(readRate(" 100 / m ")).toEqual({ limit: 100, per: 60, burst: null });
  for (const wrong of ["100", "0/1m", "100/1w", "a/1m", "1/1m, 0 at once"])
    expect(readRate(wrong)).toContain(`got '${wrong}'`);
});

const ROWS = [
  { waiting: 3, scheduled: 0, running: 2, count: 40 },
  { waiting: 480, scheduled: 1, running: 4, count: 97 },
];

test("the most that was used of each limit", () => {
  const rate = { limit: 100, per: 60, burst: 5 };
  expect(usesOf({ maxRunning: 5, rate, cap: { limit: 500 } }, ROWS, 60)).toEqual([
    "5 of 5 at once",
    "97 executions in 1 m 00 s, of which its rate lets 100 start",
    "480 of 500 that wait",
  ]);
  expect(usesOf({ maxRunning: null, rate, cap: null }, ROWS, 3600)).toEqual([
    "97 executions in 1 h 00 m, of which its rate lets 6000 start",
  ]);
  expect([usesOf(null, ROWS, 60), usesOf({ maxRunning: null, rate: null, cap: null }, ROWS, 60)]).toEqual([[], []]);
});
test("of a job only what holds for all of its runs together", () => {
  const [rate, cap, key] = [{ limit: 1, per: 1, burst: 1 }, { limit: 9 }, { template: "{customer}" }];
  const limits = { maxConcurrent: 2, rate, cap, rateKey: null, concurrencyKey: null, capKey: null };
  expect(limitsOfAll(limits)).toEqual({ maxRunning: 2, rate, cap });
  expect(limitsOfAll({ ...limits, rateKey: key, concurrencyKey: key })).toEqual({
    maxRunning: null,
    rate: null,
    cap: null,
  });
  expect(limitsOfAll(null)).toBeNull();
});
