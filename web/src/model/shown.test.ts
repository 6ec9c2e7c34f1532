import { expect, test } from "vitest";
import { shownOf } from "./shown";
import cases from "./shown.json";

test("a value is looked at as on the page for people", () => {
  expect(cases.map(({ value }) => shownOf(value))).toEqual(cases.map(({ shown }) => shown));
});
