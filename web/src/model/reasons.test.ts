import { expect, test } from "vitest";
import { type ExplainedRun, repeatedReasons } from "./reasons";

function runs(
  ...reasons: readonly (readonly [string, ...string[]])[]
): readonly Pick<ExplainedRun, "id" | "state" | "explain">[] {
  return reasons.map(([sentence, ...details], index) => ({
    id: String(index),
    state: "WAITING",
    explain: { sentence, details, changesAt: null },
  }));
}

test("the same reason is said once", () => {
  const paused = ["Group 'g-1' is paused.", "paused by ada"] as const;
  expect([...repeatedReasons(runs(paused, paused, paused))]).toEqual(["1", "2"]);
});

test("reasons that differ in a digit are different reasons", () => {
  expect(repeatedReasons(runs(["Group 'g-1' is paused."], ["Group 'g-2' is paused."])).size).toBe(0);
});

test("the same sentence with other details is another reason", () => {
  expect(repeatedReasons(runs(["It waits.", "for run 7"], ["It waits.", "for run 8"])).size).toBe(0);
});

test("what runs, or says nothing, repeats nobody", () => {
  const [run] = runs(["It runs."]);
  expect(
    repeatedReasons([
      { ...run!, state: "RUNNING" },
      { ...run!, id: "1", state: "RUNNING" },
    ]).size,
  ).toBe(0);
  expect(repeatedReasons(runs([""], [""])).size).toBe(0);
});
