import { expect, test } from "vitest";
import { joinAlike, shapeOf } from "./failures";

test("nodes, keys and numbers do not tell failures apart, words do", () => {
  expect(shapeOf("node evasive-einstein-62763 was lost after 61.5 s")).toBe(shapeOf("node calm-curie-10412 was lost after 7 s"));
  expect(shapeOf("order 3f2a9c1d77 is gone")).toBe(shapeOf("order 00be12ff01 is gone"));
  expect(shapeOf("no ink")).not.toBe(shapeOf("no paper"));
});

test("alike failures are counted together, told by the newest, the most frequent first", () => {
  const group = (message: string, count: number, first: string, last: string) => ({ jobName: "j", errorType: "E", message, count, first, last });
  const groups = [group("no paper", 4, "2026-01-01", "2026-01-01"), group("row 1", 3, "2026-01-02", "2026-01-03"), group("row 22", 2, "2026-01-01", "2026-01-05")];
  expect(joinAlike(groups)).toEqual([group("row 22", 5, "2026-01-01", "2026-01-05"), group("no paper", 4, "2026-01-01", "2026-01-01")]);
});
