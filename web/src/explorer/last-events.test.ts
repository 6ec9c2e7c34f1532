import { expect, test } from "vitest";
import { lastOf } from "./last-events";

async function* numbers(count: number): AsyncGenerator<number> {
  for (let number = 1; number <= count; number += 1) yield number;
}

test("the last answers stay in sight, the newest first, and all are counted", async () => {
  const shown: unknown[] = [];
  for await (const each of lastOf(numbers(4), 3)) shown.push(each);
  expect(shown).toEqual([
    { newestFirst: [1], count: 1 },
    { newestFirst: [2, 1], count: 2 },
    { newestFirst: [3, 2, 1], count: 3 },
    { newestFirst: [4, 3, 2], count: 4 },
  ]);
});
