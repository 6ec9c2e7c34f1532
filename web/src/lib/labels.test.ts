import { expect, test } from "vitest";
import { hasLabel, labelInput, labelsOf, labelText, readLabel } from "./labels";

test("a label is written as key and value, and read back", () => {
  expect(readLabel(labelText("team", "billing"))).toEqual({ key: "team", value: "billing" });
  expect(readLabel("url:http://a")).toEqual({ key: "url", value: "http://a" });
  expect(readLabel("")).toBeNull();
});

test("the API is asked for the label, or for any of its key", () => {
  expect(["team:billing", "team:", "team", ""].map(labelInput)).toEqual([
    { key: "team", eq: "billing" },
    { key: "team", exists: true },
    { key: "team", exists: true },
    null,
  ]);
});

test("events are judged by the same rule", () => {
  const labels = { team: "billing", customer: "42" };
  expect(["", "team:billing", "customer", "customer:"].map((text) => hasLabel(labels, text))).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(["team:sales", "tea", "billing:team"].map((text) => hasLabel(labels, text))).toEqual([false, false, false]);
  expect(hasLabel(null, "team:billing")).toBe(false);
});

test("labels stand in the order of their keys", () =>
  expect(labelsOf({ b: "1", a: "2" })).toEqual([
    ["a", "2"],
    ["b", "1"],
  ]));
