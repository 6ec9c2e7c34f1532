import { expect, test } from "vitest";
import { spanSeconds } from "./spans";

test("a span is a number of its unit", () => {
  expect(spanSeconds({ count: "", unit: "h" })).toBeNull();
  expect(spanSeconds({ count: " 90 ", unit: "s" })).toBe(90);
  expect(spanSeconds({ count: "1.5", unit: "h" })).toBe(5_400);
  expect(spanSeconds({ count: "2", unit: "d" })).toBe(172_800);
  for (const count of ["-1", "1,5", "soon", "1e3"]) expect(spanSeconds({ count, unit: "m" })).toBeNaN();
});
