import { expect, test } from "vitest";
import { durations, logHeight, quantile, stripBars, stripOccurrences } from "./strip";

const run = { state: "SUCCESS", at: "2026-01-01T00:01:00Z", seconds: 10, reason: null, count: 1 };

test("columns are the occurrences one after the other", () => {
  const columns = {
    states: ["SUCCESS", "SKIPPED"],
    at: [run.at, "2026-01-01T00:02:00Z"],
    seconds: [10, null],
    reasons: [null, "OVERLAP"],
    counts: [1, 3],
  };
  expect(stripOccurrences(columns)).toEqual([
    run,
    { state: "SKIPPED", at: "2026-01-01T00:02:00Z", seconds: null, reason: "OVERLAP", count: 3 },
  ]);
});

test("heights grow with the logarithm and stay between 0 and 1", () => {
  expect([logHeight(0), logHeight(0.01), logHeight(3600), logHeight(99_999)]).toEqual([0, 0, 1, 1]);
  expect(logHeight(6)).toBeCloseTo(0.5, 5);
});

test("bars stand in the order of their times, skipped ones among them", () => {
  const bars = stripBars(
    [{ state: "SKIPPED", at: "2026-01-01T00:02:00Z", seconds: null, reason: "OVERLAP", count: 3 }, run],
    (seconds) => `${seconds} s`,
  );
  expect(bars.map((bar) => bar.text)).toEqual(["success, 10 s", "skipped: overlap (3 times)"]);
});

test("quantiles interpolate", () => {
  expect(quantile([], 0.5)).toBeNull();
  expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5);
  expect(quantile([1, 2, 3], 0.95)).toBeCloseTo(2.9);
});

test("durations are those of ended runs", () => {
  const open = { ...run, state: "RUNNING", seconds: null };
  expect(durations([run, open])).toEqual([10]);
});
