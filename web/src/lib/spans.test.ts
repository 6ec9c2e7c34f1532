import { expect, test } from "vitest";
import { secondsOf } from "./spans";

test("a span is a number of its unit", () => {
  expect(secondsOf({ count: "", unit: "h" })).toBeNull();
  expect(secondsOf({ count: " 90 ", unit: "s" })).toBe(90);
  expect(secondsOf({ count: "1.5", unit: "h" })).toBe(5_400);
  expect(secondsOf({ count: "2", unit: "d" })).toBe(172_800);
  for (const count of ["-1", "1,5", "soon", "1e3"]) expect(secondsOf({ count, unit: "m" })).toBeNaN();
});
