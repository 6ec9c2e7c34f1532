import { expect, test } from "vitest";
import { CARDS_BELOW, type ColumnSize, emptyFirst, fitColumns } from "./columns";

const COLUMNS: readonly ColumnSize[] = [
  { key: "name", width: 200, grow: 3, rank: 0 },
  { key: "state", width: 120, rank: 0 },
  { key: "group", width: 150, grow: 1, rank: 2 },
  { key: "strip", width: 200, rank: 3 },
  { key: "p95", width: 90, rank: 3 },
];

test("with room for all, what is left goes to those that grow", () => {
  expect([...(fitColumns(COLUMNS, 960) ?? [])]).toEqual([
    ["name", 350],
    ["state", 120],
    ["group", 200],
    ["strip", 200],
    ["p95", 90],
  ]);
});

test("without room the least valuable go first, and no column gets less than it needs", () => {
  expect([...(fitColumns(COLUMNS, 700)?.keys() ?? [])]).toEqual(["name", "state", "group", "strip"]);
  expect([...(fitColumns(COLUMNS, 650)?.keys() ?? [])]).toEqual(["name", "state", "group"]);
  for (let width = CARDS_BELOW; width < 1600; width += 7) {
    const fitting = fitColumns(COLUMNS, width);
    for (const column of COLUMNS) expect(fitting?.get(column.key) ?? column.width).toBeGreaterThanOrEqual(column.width);
    expect([...(fitting?.values() ?? [])].reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(width);
  }
});

test("a narrow place has cards, and so has one where the indispensable does not fit", () => {
  expect(fitColumns(COLUMNS, CARDS_BELOW - 1)).toBeNull();
  expect(fitColumns([{ key: "wide", width: 900, rank: 0 }], 800)).toBeNull();
});

test("what the reader does not want is left out, the indispensable stays", () => {
  expect([...(fitColumns(COLUMNS, 2000, new Set(["strip", "name"]))?.keys() ?? [])]).toEqual([
    "name",
    "state",
    "group",
    "p95",
  ]);
});

test("a column in which no row says anything goes first, and takes nothing of what is left", () => {
  const without = emptyFirst(COLUMNS, ({ key }) => key === "group" || key === "name");
  expect([...(fitColumns(without, 650)?.keys() ?? [])]).toEqual(["name", "state", "strip", "p95"]);
  expect(fitColumns(without, 960)?.get("group")).toBe(150);
  expect(fitColumns(without, 960)?.get("name")).toBe(400);
});

test("a column in which no row says anything goes before the content of another is cut", () => {
  const needs = new Map([
    ["outcome", 100],
    ["name", 220],
    ["node", 120],
    ["error", 300],
  ]);
  const without = emptyFirst(LOG, ({ key }) => key === "node");
  expect(fitColumns(without, 740, new Set(), needs)?.has("node")).toBe(true);
  expect([...(fitColumns(without, 730, new Set(), needs) ?? [])]).toEqual([
    ["outcome", 100],
    ["name", 220],
    ["error", 410],
  ]);
});

test("who lacks little gets all of it before long content is given more", () => {
  const sizes = [
    { key: "name", width: 160, rank: 0 },
    { key: "state", width: 96, rank: 0 },
    { key: "text", width: 200, grow: 1, rank: 0 },
  ];
  const needs = new Map([
    ["name", 320],
    ["state", 116],
    ["text", 200],
  ]);
  expect([...(fitColumns(sizes, 600, new Set(), needs) ?? [])]).toEqual([
    ["name", 284],
    ["state", 116],
    ["text", 200],
  ]);
});

const LOG: readonly ColumnSize[] = [
  { key: "outcome", width: 170, rank: 0 },
  { key: "name", width: 160, grow: 1, rank: 0 },
  { key: "node", width: 170, rank: 6 },
  { key: "error", width: 150, grow: 4, rank: 1 },
];

test("columns are as wide as what they say, and the error gets the rest", () => {
  const needs = new Map([
    ["outcome", 100],
    ["name", 220],
    ["node", 120],
    ["error", 900],
  ]);
  expect([...(fitColumns(LOG, 1000, new Set(), needs) ?? [])]).toEqual([
    ["outcome", 100],
    ["name", 220],
    ["node", 120],
    ["error", 560],
  ]);
  // What says little leaves room for a column more.
  expect([...(fitColumns(LOG, 620)?.keys() ?? [])]).toEqual(["outcome", "name", "error"]);
  expect([...(fitColumns(LOG, 620, new Set(), needs)?.keys() ?? [])]).toEqual(["outcome", "name", "node", "error"]);
});

test("a number is never cut", () => {
  const sizes = [...LOG.slice(0, 2), { key: "spent", width: 90, rank: 2, number: true }, ...LOG.slice(3)];
  expect(fitColumns(sizes, 700, new Set(), new Map([["spent", 130]]))?.get("spent")).toBe(130);
  expect(fitColumns(sizes, 600, new Set(), new Map([["spent", 130]]))?.has("spent")).toBe(false);
});

test("a long name takes half of what is left at most, and twice its width", () => {
  const needs = new Map([
    ["outcome", 100],
    ["name", 2_000],
    ["node", 20],
    ["error", 2_000],
  ]);
  const narrow = fitColumns(LOG, 700, new Set(), needs);
  expect(narrow?.get("node")).toBe(44);
  expect(narrow?.get("name")).toBe(160 + 123);
  expect(fitColumns(LOG, 2_000, new Set(), needs)?.get("name")).toBe(320);
  for (let width = CARDS_BELOW; width < 1600; width += 7) {
    const fitting = fitColumns(LOG, width, new Set(), needs);
    expect([...(fitting?.values() ?? [])].reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(width);
  }
});
