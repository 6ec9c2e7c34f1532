import { expect, test } from "vitest";
import { gapsOf } from "./gaps";

test.each([
  ["", []],
  ["..", []],
  ["##", [[0, 2]]],
  [
    "#.##.",
    [
      [0, 1],
      [2, 4],
    ],
  ],
  [".#", [[1, 2]]],
])("of '%s' the gaps are %o", (drawn, gaps) => {
  expect(gapsOf([...drawn].map((each) => each === "#"))).toEqual(gaps);
});
