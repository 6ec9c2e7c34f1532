import { expect, test } from "vitest";
import { keepActiveTab } from "./storage";

function storageOf(kept: Record<string, string>) {
  const values = new Map(Object.entries(kept));
  return {
    values,
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
  };
}

const TABS = JSON.stringify({
  activeTabIndex: 1,
  tabs: [
    { query: "{ first }", variables: null },
    { query: "{ second }", variables: '{"a": 1}' },
  ],
});

test("a visit that typed nothing leaves the texts of the open tab", () => {
  const storage = storageOf({ "graphiql:tabState": TABS });
  keepActiveTab(storage);
  expect(storage.getItem("graphiql:query")).toBe("{ second }");
  expect(storage.getItem("graphiql:variables")).toBe('{"a": 1}');
});

test("what was typed is newer than the tabs", () => {
  const storage = storageOf({ "graphiql:tabState": TABS, "graphiql:query": "{ typed }" });
  keepActiveTab(storage);
  expect(storage.getItem("graphiql:query")).toBe("{ typed }");
  expect(storage.getItem("graphiql:variables")).toBe('{"a": 1}');
});

test.each([
  ["nothing", undefined],
  ["no JSON", "{"],
  ["no object", "null"],
  ["a list", "[]"],
  ["no tabs", "{}"],
  ["tabs of another shape", '{"activeTabIndex": 0, "tabs": {}}'],
  ["no such tab", '{"activeTabIndex": 3, "tabs": []}'],
  ["a tab without texts", '{"activeTabIndex": 0, "tabs": [{}]}'],
  ["a tab that is none", '{"activeTabIndex": 0, "tabs": [null]}'],
])("where %s is kept nothing is added", (_name, stored) => {
  const storage = storageOf(stored === undefined ? {} : { "graphiql:tabState": stored });
  const before = storage.values.size;
  keepActiveTab(storage);
  expect(storage.values.size).toBe(before);
});
