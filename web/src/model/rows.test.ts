import { expect, test } from "vitest";
import { replace, steady, upsertFirst, without } from "./rows";

const rows = [{ id: "2", n: 0 }, { id: "1", n: 0 }];

test("a known row is replaced in place, a new one comes first", () => {
  expect(upsertFirst(rows, { id: "1", n: 7 }, 5)).toEqual([{ id: "2", n: 0 }, { id: "1", n: 7 }]);
  expect(upsertFirst(rows, { id: "3", n: 0 }, 2).map((row) => row.id)).toEqual(["3", "2"]);
});

test("replace and without leave the array alone when nothing changes", () => {
  expect(replace(rows, { id: "9", n: 0 })).toBe(rows);
  expect(without(rows, "9")).toBe(rows);
  expect(without(rows, "2")).toEqual([{ id: "1", n: 0 }]);
});

test("held rows keep their place and show their newest state; newcomers are counted", () => {
  const current = [{ id: "3", n: 0 }, { id: "1", n: 5 }];
  expect(steady(rows, current)).toEqual({ rows: [{ id: "2", n: 0 }, { id: "1", n: 5 }], fresh: 1 });
});
