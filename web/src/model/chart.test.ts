import { expect, test } from "vitest";
import { axisTicks, fillBuckets, heatMap, linear, logarithmic, logTicks, niceCeiling } from "./chart";

test("scales map the ends of a domain to the ends of a range", () => {
  expect([linear([0, 10], [0, 100])(5), linear([3, 3], [0, 100])(3)]).toEqual([50, 50]);
  const log = logarithmic([0.01, 100], [100, 0]);
  expect([log(0.01), log(1), log(100), log(0)].map(Math.round)).toEqual([100, 50, 0, 100]);
});

test("ticks are powers of ten, and more of them in a narrow range", () => {
  expect(logTicks(0.05, 200)).toEqual([0.1, 1, 10, 100]);
  expect(logTicks(0.15, 0.6)).toEqual([0.2, 0.5]);
});

test("axes end at a round number", () =>
  expect([0, 1, 3, 7, 12, 340].map(niceCeiling)).toEqual([1, 1, 5, 10, 20, 500]));

test("the heat map counts by weekday from Monday and by hour", () => {
  const monday = "2026-11-23T05:00:00Z";
  expect(
    heatMap(
      [
        { at: monday, count: 3, failures: 1 },
        { at: "2026-11-16T05:00:00Z", count: 1, failures: 0 },
      ],
      false,
    ),
  ).toEqual([{ day: 0, hour: 5, count: 4, failed: 1 }]);
});

test("empty stretches of time are filled in", () => {
  const hour = 3_600_000;
  const known = { at: "2026-01-01T01:00:00Z", count: 5, failures: 1, records: 9 };
  const filled = fillBuckets([known], Date.UTC(2026, 0, 1) - 1, Date.UTC(2026, 0, 1, 2, 30), hour);
  expect(filled.map((bucket) => bucket.count)).toEqual([0, 5, 0]);
});

test("the axis has few, round times", () => {
  const now = Date.UTC(2026, 0, 1, 12);
  const ticks = axisTicks(now - 3_600_000 + 1, now + 3_600_000);
  expect(ticks.length).toBeLessThanOrEqual(9);
  expect(ticks.every((tick) => tick % 900_000 === 0)).toBe(true);
});
