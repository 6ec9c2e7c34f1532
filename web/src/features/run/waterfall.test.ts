import { expect, test } from "vitest";
import type { Phase } from "./course";
import { partsOf, spanOf, unfolded } from "./waterfall";

const at = (second: number): string => new Date(second * 1000).toISOString();
const step = (label: string, attempt: number, from = 0, to: number | null = 1) => ({
  label,
  attempt,
  startedAt: at(from),
  finishedAt: to === null ? null : at(to),
});
const wait: Phase = { name: "queued", kind: "wait", from: 0, to: 1, attempt: null };
const tried = (attempt: number): Phase => ({
  name: `attempt ${attempt}`,
  kind: "attempt",
  from: attempt,
  to: attempt + 1,
  attempt: { id: String(attempt), attempt, startedAt: at(0), completedAt: null, outcome: null },
});

/** The parts as `name: step, step`. */
const told = (...args: Parameters<typeof partsOf>): readonly string[] =>
  partsOf(...args).map(({ phase, attempt, steps }) =>
    `${phase?.name ?? `(${attempt})`}: ${steps.map(({ label }) => label).join(" ")}`.trim(),
  );

test("steps stand under the attempt in which they ended, in their order", () => {
  const steps = [step("charge", 1), step("mail", 1), step("mail", 2)];
  expect(told([wait, tried(1), tried(2)], steps)).toEqual(["queued:", "attempt 1: charge mail", "attempt 2: mail"]);
});

test("what was taken over comes first, and is of another run's time", () => {
  expect(told([wait, tried(1)], [step("charge", 0), step("mail", 1)])).toEqual([
    "(0): charge",
    "queued:",
    "attempt 1: mail",
  ]);
  expect(spanOf(step("charge", 0), null)).toBeNull();
});

test("steps of attempts that are not read, or not known yet, are not lost", () => {
  expect(told([wait, tried(7)], [step("a", 2), step("b", 7), step("c", 8)])).toEqual([
    "queued:",
    "(2): a",
    "attempt 7: b",
    "(8): c",
  ]);
  expect(told([wait], [step("a", 1)])).toEqual(["queued:", "(1): a"]);
});

test("what waits lasts until the run is over", () => {
  expect(spanOf(step("approved", 1, 50, null), null)).toEqual({ from: 50_000, to: null });
  expect(spanOf(step("approved", 1, 50, null), at(100))).toEqual({ from: 50_000, to: 100_000 });
});

test("of very many steps only those of the chosen attempt are unfolded", () => {
  expect([unfolded(1, 2, 10), unfolded(1, 2, 100), unfolded(2, 2, 100)]).toEqual([true, false, true]);
});
