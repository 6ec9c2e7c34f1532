import { expect, test } from "vitest";
import { capped, compact, integer, percent, plural, words } from "./format";

test("integers are grouped", () => expect(integer(1234567)).toBe("1,234,567"));
test("counts beyond the cap say so", () => expect([capped(10_000), capped(10_001)]).toEqual(["10,000", "10,000+"]));
test("compact numbers keep two or three digits", () => {
  expect([7, 1.25, 1234, 34_567, 1_234_567].map(compact)).toEqual(["7", "1.3", "1.2 k", "35 k", "1.2 M"]);
});
test("percentages never round a failure away", () => {
  expect([1, 0.99999, 0.954, 0, 0.000001].map(percent)).toEqual(["100 %", "99.99 %", "95.4 %", "0 %", "< 0.01 %"]);
});
test("plurals and enum names", () => {
  expect([plural(1, "run"), plural(2, "run"), plural(2, "entry", "entries"), words("TIMED_OUT")]).toEqual([
    "1 run",
    "2 runs",
    "2 entries",
    "timed out",
  ]);
});
