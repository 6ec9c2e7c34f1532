import { expect, test } from "vitest";
import { compared, readOther, type Side } from "./compare";

const side = (more: Partial<Side> = {}): Side => ({
  outcome: "SUCCESS",
  trigger: "SCHEDULE",
  node: "a",
  startedAt: "2026-01-01T00:00:00Z",
  wait: 1,
  open: false,
  duration: 10,
  records: 5,
  error: null,
  args: {},
  result: null,
  steps: [],
  ...more,
});
const differing = (left: Partial<Side>, right: Partial<Side>): readonly string[] =>
  compared(side(left), side(right)).flatMap(({ name, differs }) => (differs ? [name] : []));
const step = (label: string, seconds: number) => ({
  label,
  startedAt: "2026-01-01T00:00:00Z",
  finishedAt: new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString(),
});

test("two equal attempts differ in nothing, whenever they began", () =>
  expect(differing({}, { startedAt: "2026-01-02T00:00:00Z" })).toEqual([]));

test.each([
  [{ outcome: "FAILED", error: "no luck" }, {}, ["Outcome", "Error"]],
  [{ duration: 10 }, { duration: 10.9 }, []],
  [{ duration: 10 }, { duration: 12 }, ["Took"]],
  [{ duration: 0.01 }, { duration: 0.05 }, []],
  [{ duration: null }, { duration: 1 }, ["Took"]],
  [{ args: { batch: 1, day: "x" } }, { args: { day: "x", batch: 2, dry: true } }, ["Argument batch", "Argument dry"]],
  [{ result: { a: 1, b: [{ c: 2, d: 3 }] } }, { result: { b: [{ d: 3, c: 2 }], a: 1 } }, []],
  [
    { steps: [step("charge", 1), step("mail", 2)] },
    { steps: [step("charge", 9), step("mail", 2), step("ship", 1)] },
    ["Step charge", "Step ship"],
  ],
] as const)("%j and %j differ in %j", (left, right, names) => expect(differing(left, right)).toEqual(names));

test("what goes on is as long as since it began, and of what is over nothing does", () => {
  const waits = { label: "approved", startedAt: "2026-01-01T00:00:05Z", finishedAt: null };
  const values = (more: Partial<Side>) => new Map(compared(side(more), side()).map(({ name, left }) => [name, left]));
  const going = values({ open: true, duration: null, steps: [step("charge", 1), waits] });
  expect(going.get("Took")).toEqual({ since: "2026-01-01T00:00:00Z" });
  expect(going.get("Step charge")).toBe(1);
  expect(going.get("Step approved")).toEqual({ since: "2026-01-01T00:00:05Z" });
  expect(values({ duration: null, steps: [waits] }).get("Step approved")).toBeUndefined();
});

test("what neither side has is left out", () =>
  expect(compared(side(), side()).map(({ name }) => name)).not.toContain("Error"));

test.each([
  ["812", { run: "812", attempt: null }],
  [" 812.3 ", { run: "812", attempt: 3 }],
  ["812.", null],
  ["run", null],
  [null, null],
])("%j names %j", (text, other) => expect(readOther(text)).toEqual(other));
