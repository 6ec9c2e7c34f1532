import { expect, test } from "vitest";
import { type SavedView, viewCommands, viewsLike, viewsOf, withoutPage } from "./views";

const view = (id: string, name: string, page: string, shared = false): SavedView => ({
  id,
  name,
  page,
  isShared: shared,
  search: `?x=${id}`,
});
const VIEWS = [view("1", "all failed", "/runs", true), view("2", "failed today", "/runs"), view("3", "slow", "/log")];

test("a view begins at the first page of its list", () => {
  expect(withoutPage("?state=WAITING&after=abc")).toBe("?state=WAITING");
  expect(withoutPage("?after=abc")).toBe("");
});

test("one's own views come before those of the team, other pages' not at all", () =>
  expect(viewsOf(VIEWS, "/runs").map(({ name }) => name)).toEqual(["failed today", "all failed"]));

test("what is typed chooses among them, beginnings first", () => {
  expect(viewsLike(VIEWS, "/runs", "failed").map(({ name }) => name)).toEqual(["failed today", "all failed"]);
  expect(viewsLike(VIEWS, "/runs", "ALL").map(({ name }) => name)).toEqual(["all failed"]);
  expect(viewsLike(VIEWS, "/runs", "slow")).toEqual([]);
});

test("the palette names the page and whose it is", () => {
  const [first, , last] = viewCommands(VIEWS, new Map([["/runs", "Runs"]]));
  expect(first).toMatchObject({ label: "Runs: all failed", kind: "view of the team", href: "/runs?x=1" });
  expect(last).toMatchObject({ label: "/log: slow", kind: "view" });
});
