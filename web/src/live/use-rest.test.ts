import { expect, test } from "vitest";
import { gather } from "./use-rest";

test("what was known stays in sight until all that is asked again is there", () => {
  const first = gather(null, [1, 2], "c", 1, 3);
  expect(first.shown).toEqual([1, 2]);
  const whole = gather(first, [1, 2, 3, 4], null, 2, 3);
  expect(whole.shown).toEqual([1, 2, 3, 4]);
  const again = gather(whole, [8, 9], "d", 1, 3);
  expect([again.shown, again.read]).toEqual([
    [1, 2, 3, 4],
    [8, 9],
  ]);
  expect(gather(again, [8, 9, 1], null, 2, 3).shown).toEqual([8, 9, 1]);
});

test("what is cut off after so many pages is shown as far as it goes", () => {
  const known = gather<number>(null, [1, 2, 3, 4, 5], null, 1, 2);
  expect(gather(known, [7, 8], "more", 2, 2).shown).toEqual([7, 8]);
});
