import { expect, test } from "vitest";
import { asCsv, asJson } from "./export";

test("columns come from all rows, what is nested is flattened, lists are JSON", () => {
  const rows = [
    { name: "a", schedule: { value: "1h", timezone: "UTC" }, last: null },
    { name: "b", schedule: null, last: { id: "7" }, jobs: ["x", "y"] },
  ];
  expect(asCsv(rows)).toBe(
    'name,schedule.value,schedule.timezone,last,schedule,last.id,jobs\r\na,1h,UTC,,,,\r\nb,,,,,7,"[""x"",""y""]"\r\n',
  );
  expect(JSON.parse(asJson(rows))).toEqual(rows);
});

test.each([
  ['say "hi", you', '"say ""hi"", you"'],
  ["two\nlines", '"two\nlines"'],
  ["=1+1", "'=1+1"],
  ["@cmd", "'@cmd"],
  ["-1", "'-1"],
  [-1, "-1"],
  [true, "true"],
  [undefined, ""],
])("%o is written %s", (value, expected) => {
  expect(asCsv([{ value }])).toBe(`value\r\n${expected}\r\n`);
});

test("a list without rows is an empty file of each kind", () => {
  expect(asCsv([])).toBe("\r\n");
  expect(asJson([])).toBe("[]\n");
});
