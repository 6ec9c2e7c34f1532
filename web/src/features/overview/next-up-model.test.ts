import { expect, test } from "vitest";
import { firstOfEach, NEXT_UP, type NextUp, nextLook } from "./next-up-model";

function at(id: string, second: number): NextUp {
  return { id, at: new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString(), sentence: "", timezone: "UTC" };
}

test("a task that comes often stands once, with its first time", () => {
  expect(firstOfEach([at("often", 1), at("often", 2), at("rare", 9), at("often", 4), at("soon", 3)])).toEqual([
    at("often", 1),
    at("soon", 3),
    at("rare", 9),
  ]);
});

test("ten tasks are shown", () => {
  expect(firstOfEach(Array.from({ length: 30 }, (_, index) => at(String(index), index)))).toHaveLength(NEXT_UP);
});

test("the server is asked again when the first is due, or soon if it is overdue", () => {
  const now = Date.UTC(2026, 0, 1);
  expect(nextLook([at("a", 5), at("b", 9)], now)).toBe(now + 5_400);
  expect(nextLook([at("a", 5)], now + 60_000)).toBe(now + 60_400);
  expect(nextLook([], now)).toBeNull();
});
