import { expect, test } from "vitest";
import { replace, steady, upsertFirst, without, withProgress, withRecovery } from "./rows";

const rows = [
  { id: "2", n: 0 },
  { id: "1", n: 0 },
];

test("a known row is replaced in place, a new one comes first", () => {
  expect(upsertFirst(rows, { id: "1", n: 7 }, 5)).toEqual([
    { id: "2", n: 0 },
    { id: "1", n: 7 },
  ]);
  expect(upsertFirst(rows, { id: "3", n: 0 }, 2).map((row) => row.id)).toEqual(["3", "2"]);
});

test("replace and without leave the array alone when nothing changes", () => {
  expect(replace(rows, { id: "9", n: 0 })).toBe(rows);
  expect(without(rows, "9")).toBe(rows);
  expect(without(rows, "2")).toEqual([{ id: "1", n: 0 }]);
});

test("held rows keep their place and show their newest state; newcomers are counted, and those that left are known", () => {
  const current = [
    { id: "3", n: 0 },
    { id: "1", n: 5 },
  ];
  expect(steady(rows, current, (row) => row.id)).toEqual({
    rows: [
      { id: "2", n: 0 },
      { id: "1", n: 5 },
    ],
    fresh: 1,
    left: new Set(["2"]),
  });
});

test("the progress of a run shows at its open execution only", () => {
  const progress = { done: 1 };
  const open = { id: "2", completedAt: null, progress: null as unknown, run: { id: "7" } };
  const over = { ...open, id: "1", completedAt: "2026-01-01T00:00:00Z" };
  expect(withProgress([open, over], { id: "7", progress })).toEqual([{ ...open, progress }, over]);
  expect(withProgress([over], { id: "7", progress })).toEqual([over]);
});

test("the failed attempts of a run that has succeeded show that, and no others", () => {
  const row = (id: string, run: string, success: boolean | null) => ({
    id,
    run: { id: run },
    completedAt: "x",
    progress: null,
    success,
  });
  const all = [row("3", "7", true), row("2", "7", false), row("1", "8", false)];
  const changed = withRecovery(all, { id: "7", state: "SUCCESS" });
  expect(changed.map((one) => "isRecovered" in one)).toEqual([false, true, false]);
  expect(withRecovery(all, { id: "7", state: "STUCK" })).toBe(all);
  expect(withRecovery(all, { id: "9", state: "SUCCESS" })).toBe(all);
});
