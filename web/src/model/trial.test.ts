import { expect, test } from "vitest";
import { trial } from "./trial";

const ROWS = [
  { name: "a", paused: false },
  { name: "b", paused: false },
];
const pausing = () =>
  trial<(typeof ROWS)[number]>(
    ({ name }) => name === "a",
    () => ({ paused: true }),
  );

test("only what is wanted changes, and all comes back as it was", () => {
  const { begin, takeBack } = pausing();
  const during = begin(ROWS);
  expect(during).toEqual([{ name: "a", paused: true }, ROWS[1]]);
  expect(during[1]).toBe(ROWS[1]);
  const after = takeBack(during);
  expect(after[0]).toBe(ROWS[0]);
  expect(after[1]).toBe(ROWS[1]);
});

test("a row that has changed since stays as it is", () => {
  const { begin, takeBack } = pausing();
  begin(ROWS);
  const changed = [{ name: "a", paused: true, by: "somebody else" }];
  expect(takeBack(changed)).toEqual(changed);
});
