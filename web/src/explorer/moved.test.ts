import { expect, test } from "vitest";
import { moved } from "./moved";

test.each([
  ["a", "c", "bcad"],
  ["d", "a", "dabc"],
  ["b", "b", "abcd"],
  ["x", "a", "abcd"],
  ["a", "x", "abcd"],
])("%s at the place of %s makes %s", (one, place, expected) => {
  const values = [..."abcd"].map((id) => ({ id }));
  expect(
    moved(values, one, place)
      .map((value) => value.id)
      .join(""),
  ).toBe(expected);
});
