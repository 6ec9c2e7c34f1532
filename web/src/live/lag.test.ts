import { expect, test } from "vitest";
import { lag, noteLag, secondsBehind } from "./lag";

test("a late event says how far behind the page is, a timely one takes that back", () => {
  noteLag(1_000, 2_000);
  expect(lag.value).toBeNull();
  noteLag(1_000, 19_000);
  expect(secondsBehind(lag.value, Date.now())).toBe(18);
  noteLag(19_500, 19_600);
  expect(lag.value).toBeNull();
});

test("an old measurement says nothing about now", () => {
  expect(secondsBehind({ behind: 9_000, at: 1_000 }, 6_000)).toBe(9);
  expect(secondsBehind({ behind: 9_000, at: 1_000 }, 6_001)).toBeNull();
});
