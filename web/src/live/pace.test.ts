import { expect, test } from "vitest";
import { SOON, untilNext, untilRetry } from "./pace";

test("questions that changes cause keep their distance", () => {
  expect(untilNext({ asked: 1000, took: 20 }, 1000, 1100)).toBe(900);
  expect(untilNext({ asked: 1000, took: 20 }, 1000, 9000)).toBe(SOON);
});

test("the pause grows with the time that the answer takes, up to half a minute", () => {
  expect(untilNext({ asked: 0, took: 1300 }, 1000, 1300)).toBe(2600);
  expect(untilNext({ asked: 0, took: 60_000 }, 1000, 60_000)).toBe(SOON);
  expect(untilNext({ asked: 0, took: 25_000 }, 1000, 25_000)).toBe(5_000);
});

test("failures are retried ever more slowly, up to fifteen seconds", () => {
  expect([0, 1, 2, 3, 4, 50].map(untilRetry)).toEqual([1000, 2000, 4000, 8000, 15_000, 15_000]);
});
