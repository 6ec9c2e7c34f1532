import { expect, test } from "vitest";
import { byName, byNumber, type Command, fit, ranked } from "./palette";

function command(label: string): Command {
  return { id: label, icon: "tasks", label, kind: "task", href: "/", press: null };
}

test.each([
  ["nightly-report", "", 0],
  ["nightly-report", "night", 0],
  ["nightly-report", "REPORT", 1],
  ["nightly-report", "ightly", 2],
  ["nightly-report", "rep night", 1],
  ["nightly-report", "night mail", null],
  ["Änderungen", "änd", 0],
])("'%s' fits '%s': %s", (label, typed, expected) => {
  expect(fit(label, typed)).toBe(expected);
});

test("what begins with the words comes first, the rest in its own order, and no more than wanted", () => {
  const labels = (typed: string, most = 9) =>
    ranked(["a-log", "prolog", "log", "blog"].map(command), typed, most).map(({ label }) => label);
  expect(labels("log")).toEqual(["log", "a-log", "prolog", "blog"]);
  expect(labels("log", 2)).toEqual(["log", "a-log"]);
  expect(labels("")).toEqual(["a-log", "prolog", "log", "blog"]);
});

test.each([
  ["42", ["/runs/42", "/log/42", "/flows/42"]],
  [" #42 ", ["/runs/42", "/log/42", "/flows/42"]],
  ["4.2", []],
  ["job 42", []],
  ["12345678901234567890", []],
])("'%s' as a number leads to %o", (typed, expected) => {
  expect(byNumber(typed).map(({ href }) => href)).toEqual(expected);
});

test("names are written so that any of them can be in an address", () => {
  expect(byName("task", ["a/b?"])[0]?.href).toBe("/tasks/a%2Fb%3F");
  expect(byName("job", ["a&b"])[0]?.href).toBe("/jobs/a%26b");
  expect(byName("group", ["ä"])[0]?.href).toBe("/runs?group=%C3%A4");
});
