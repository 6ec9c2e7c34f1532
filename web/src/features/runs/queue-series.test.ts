import { expect, test } from "vitest";
import { readSpan, stretches } from "./queue-series";

const MINUTE = 60_000;
const FROM = Date.parse("2026-03-01T12:00:30Z");

test("both series stand on the same stretches, and what is missing is zero", () => {
  const depth = {
    at: "2026-03-01T12:01:00Z",
    waiting: 2,
    scheduled: 0,
    running: 1,
    stuck: 0,
    suspended: 0,
    oldestWait: 60,
  };
  const done = { at: "2026-03-01T12:02:00Z", count: 3, failures: 1, p50: 0.5, p95: null };
  const found = stretches([depth], [done], FROM, FROM + 2 * MINUTE, MINUTE);
  expect(
    found.map(({ start, waiting, oldestWait, count, p50, p95 }) => [
      new Date(start).toISOString().slice(11, 16),
      waiting,
      oldestWait,
      count,
      p50,
      p95,
    ]),
  ).toEqual([
    ["12:01", 2, 60, 0, 0, 0],
    ["12:02", 0, 0, 3, 0.5, 0],
  ]);
});

test("what nobody counted is told from a queue that was empty, and what goes on is still to be counted", () => {
  const depth = { waiting: 0, scheduled: 0, running: 0, stuck: 0, suspended: 0, oldestWait: null };
  const counted = [{ ...depth, at: "2026-03-01T12:02:00Z" }];
  const of = (depths: typeof counted | null) =>
    stretches(depths, [], FROM, FROM + 4 * MINUTE, MINUTE).map(({ isCounted }) => isCounted);
  expect(of(counted)).toEqual([false, true, true, true]);
  expect(of([])).toEqual([false, false, true, true]);
  expect(of(null)).toEqual([true, true, true, true]);
});

test("an unknown span is an hour", () => {
  expect([null, "", "9d", "6h", "2d"].map(readSpan)).toEqual(["1h", "1h", "1h", "6h", "2d"]);
});
