import { expect, test } from "vitest";
import { headingOf, type Sorts } from "./sorting";

const SORTS: Sorts = {
  name: { ascending: "name" },
  started: { ascending: "oldest", descending: "newest" },
  duration: { descending: "longest" },
};

test.each([
  ["name", "newest", { next: "name", now: null }],
  ["name", "name", { next: "name", now: "ascending" }],
  ["started", "name", { next: "newest", now: null }],
  ["started", "newest", { next: "oldest", now: "descending" }],
  ["started", "oldest", { next: "newest", now: "ascending" }],
  ["duration", "longest", { next: "longest", now: "descending" }],
  ["error", "newest", null],
])("the heading of %s in a list by %s", (column, sort, expected) => {
  expect(headingOf(SORTS, column, sort)).toEqual(expected);
});
