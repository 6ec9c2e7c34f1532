import { expect, test } from "vitest";
import { argFields, canShow, secretOf, secretText } from "../lib/args-schema";
import { argRefusals, argTexts, readArgTexts } from "./args-form";

const FIELDS = argFields({
  properties: { batch: { type: "integer", default: 7 }, name: { type: "string" }, deep: { type: "object" } },
  required: ["name"],
});

test("texts and arguments are two writings of one thing", () => {
  const args = { batch: 3, name: "a", deep: { x: 1 } };
  expect(readArgTexts(FIELDS, argTexts(FIELDS, args))).toEqual({ args, faults: {} });
});

test("a text that means nothing is a fault, and its last meaning does not live on", () => {
  const { args, faults } = readArgTexts(FIELDS, { batch: "12x", name: "a", deep: "" }, { batch: 12 });
  expect(args).toEqual({ name: "a" });
  expect(faults).toEqual({ batch: "Must be a whole number, got '12x'" });
});

test("what is required and missing is a fault; what has a default may be left out", () => {
  expect(readArgTexts(FIELDS, {})).toEqual({ args: {}, faults: { name: "Must be given: it has no default" } });
});

test("arguments that have no field are kept", () => {
  expect(readArgTexts(FIELDS, { name: "a" }, { unknown: true }).args).toEqual({ unknown: true, name: "a" });
});

const ORDER = argFields({
  properties: {
    customer: { $ref: "#/$defs/Customer" },
    gift: { anyOf: [{ $ref: "#/$defs/Gift" }, { type: "null" }], default: null },
    day: { type: "string", format: "date" },
    at: { type: "string", format: "date-time" },
    token: { type: "string" },
  },
  required: ["customer"],
  $defs: {
    Customer: {
      type: "object",
      properties: { name: { type: "string" }, address: { $ref: "#/$defs/Address" } },
      required: ["name"],
    },
    Address: {
      type: "object",
      properties: { city: { type: "string" }, floors: { type: "object", additionalProperties: { type: "integer" } } },
    },
    Gift: {
      type: "object",
      properties: { text: { type: "string" }, wrap: { enum: ["paper", "box"] } },
      required: ["text"],
    },
  },
});

test("objects within the arguments have fields of their own, as far as their members are declared", () => {
  expect(ORDER.map(({ name, kind, within }) => [name, kind, within])).toEqual([
    ["customer.name", "text", []],
    ["customer.address.city", "text", ["customer.address"]],
    ["customer.address.floors", "json", ["customer.address"]],
    ["gift.text", "text", ["gift"]],
    ["gift.wrap", "choice", ["gift"]],
    ["day", "date", []],
    ["at", "datetime", []],
    ["token", "text", []],
  ]);
});

test("an object that may be left out asks for its members once one of them is given, and goes with the last", () => {
  expect(readArgTexts(ORDER, {})).toEqual({
    args: {},
    faults: { "customer.name": "Must be given: it has no default" },
  });
  expect(readArgTexts(ORDER, { "customer.name": "Ada", "gift.wrap": "box" })).toEqual({
    args: { customer: { name: "Ada" }, gift: { wrap: "box" } },
    faults: { "gift.text": "Must be given: it has no default" },
  });
  expect(
    readArgTexts(ORDER, { "customer.name": "Ada" }, { customer: { name: "Ada", address: { city: "Rome" } } }).args,
  ).toEqual({ customer: { name: "Ada" } });
});

test("what is not touched stays to the letter, and what was typed as a time is one", () => {
  const args = { customer: { name: "Ada", loyal: true }, at: "2026-03-01T12:00:00.5+02:00", gift: null };
  const texts = argTexts(ORDER, args);
  expect(texts["at"]).toBe("2026-03-01T10:00:00");
  expect(readArgTexts(ORDER, { ...texts, token: "x" }, args).args).toEqual({ ...args, token: "x" });
  expect(readArgTexts(ORDER, { ...texts, at: "2026-03-01T10:05" }, args).args["at"]).toBe("2026-03-01T10:05:00Z");
});

test("a secret is named, and its value never typed", () => {
  const texts = argTexts(ORDER, { customer: { name: "Ada" }, token: { $secret: "API_KEY" } });
  expect(secretOf(texts["token"] ?? "")).toBe("API_KEY");
  expect(readArgTexts(ORDER, { "customer.name": "Ada", token: secretText("OTHER") }).args["token"]).toEqual({
    $secret: "OTHER",
  });
  expect(readArgTexts(ORDER, { "customer.name": "Ada", token: secretText("") }).faults).toEqual({
    token: "Choose a secret",
  });
});

test("arguments that the fields cannot show are left to the JSON", () => {
  expect(canShow(ORDER, { customer: { name: "Ada" }, at: "2026-03-01T12:00:00Z", token: { $secret: "A" } })).toBe(true);
  for (const args of [
    { customer: { $secret: "A" } },
    { customer: "Ada" },
    { at: "tomorrow" },
    { day: "2026-03-01T12:00:00Z" },
    { token: { a: 1 } },
  ])
    expect(canShow(ORDER, args)).toBe(false);
});

test("what the server refuses stands at the field that its path leads to", () => {
  const refused = (...path: string[]) => argRefusals(ORDER, [{ path, message: "no" }]);
  expect(refused("args", "customer", "name")).toEqual({ "customer.name": "no" });
  expect(refused("input", "args", "customer", "address", "floors", "2")).toEqual({ "customer.address.floors": "no" });
  expect([refused("args"), refused("group"), refused("args", "customer")]).toEqual([{}, {}, {}]);
});

const LISTS = argFields({
  properties: {
    mails: { type: "array", items: { type: "string" } },
    lines: { anyOf: [{ type: "array", items: { $ref: "#/$defs/Line" } }, { type: "null" }], default: null },
    days: { type: "array", items: { type: "string", format: "date" }, default: ["2026-01-01"] },
    pair: { type: "array", prefixItems: [{ type: "string" }], maxItems: 1 },
    limit: { anyOf: [{ type: "integer" }, { type: "string" }, { type: "null" }], default: null },
    tree: { type: "array", items: { $ref: "#/$defs/Tree" } },
  },
  required: ["mails"],
  $defs: {
    Line: {
      type: "object",
      properties: { sku: { type: "string" }, count: { type: "integer", default: 1 } },
      required: ["sku"],
    },
    Tree: {
      type: "object",
      properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/Tree" } } },
      required: ["name"],
    },
  },
});
const rows = (...items: readonly Readonly<Record<string, string>>[]): string => JSON.stringify(items);

test("a list is a list of values or of objects; one of unlike parts is JSON", () => {
  expect(LISTS.map(({ name, kind, items }) => [name, kind, items.map((one) => one.name)])).toEqual([
    ["mails", "list", [""]],
    ["lines", "list", ["sku", "count"]],
    ["days", "list", [""]],
    ["pair", "json", []],
    ["limit", "mixed", []],
    ["tree", "list", ["name", "children"]],
  ]);
  const children = LISTS.at(-1)?.items.at(-1);
  expect([children?.kind, children?.items.map((one) => one.kind)]).toEqual(["list", ["text", "json"]]);
});

test("lists are written into their items and read back", () => {
  const args = {
    mails: ["a@x", "5"],
    lines: [{ sku: "p1", count: 2 }, { sku: "p2" }],
    days: ["2026-02-03"],
    limit: "5",
    tree: [{ name: "a", children: [{ name: "b" }] }],
  };
  expect(canShow(LISTS, args)).toBe(true);
  expect(readArgTexts(LISTS, argTexts(LISTS, args))).toEqual({ args, faults: {} });
});

test("what is wrong with an item is said at its field", () => {
  const { args, faults } = readArgTexts(LISTS, {
    mails: rows({ "": "a" }, { "": "" }),
    lines: rows({ sku: "", count: "2" }, { sku: "p", count: "x" }),
  });
  expect(args).toEqual({ mails: ["a"], lines: [{ count: 2 }, { sku: "p" }] });
  expect(faults).toEqual({
    "mails.1": "Fill it in, or remove it",
    "lines.0.sku": "Must be given: it has no default",
    "lines.1.count": "Must be a whole number, got 'x'",
  });
});

test("what is wrong with an item is said as long as it is", () => {
  const texts = { mails: rows(), lines: rows({ sku: "", count: "2" }) };
  const { args } = readArgTexts(LISTS, texts);
  expect(readArgTexts(LISTS, texts, args).faults).toEqual({ "lines.0.sku": "Must be given: it has no default" });
});

test("an item that was not changed stays as it is, wherever it is moved", () => {
  const fields = argFields({
    properties: { times: { type: "array", items: { type: "string", format: "date-time" } } },
  });
  const before = { times: ["2026-01-01T00:00:00.123Z", "2026-01-02T00:00:00Z"] };
  const [first = {}, second = {}] = JSON.parse(argTexts(fields, before)["times"] ?? "") as Record<string, string>[];
  const moved = readArgTexts(fields, { times: rows(second, first, { "": "2026-01-03T00:00" }) }, before);
  expect(moved).toEqual({
    args: { times: ["2026-01-02T00:00:00Z", "2026-01-01T00:00:00.123Z", "2026-01-03T00:00:00Z"] },
    faults: {},
  });
});

test("a list may be empty, and one that is left alone keeps its default", () => {
  expect(readArgTexts(LISTS, { mails: rows() })).toEqual({ args: { mails: [] }, faults: {} });
  expect(readArgTexts(LISTS, {}).faults).toEqual({ mails: "Must be given: it has no default" });
});

test("a secret may be an item of a list", () => {
  const args = { mails: [{ $secret: "boss" }, "b"] };
  expect(canShow(LISTS, args)).toBe(true);
  expect(readArgTexts(LISTS, argTexts(LISTS, args)).args).toEqual(args);
});

test("a list that a form would change is edited as JSON", () => {
  for (const args of [
    { mails: "a" },
    { mails: ["a", null] },
    { mails: [{ a: 1 }] },
    { lines: [{ sku: "a", count: null }] },
    { lines: ["a"] },
    { lines: [{ sku: "a", note: 1 }] },
    { mails: { $secret: "a" } },
  ]) {
    expect(canShow(LISTS, args)).toBe(false);
  }
});

test("a number or a text is what it looks like, unless quotation marks say that it is a text", () => {
  const limit = (text: string): unknown => readArgTexts(LISTS, { mails: rows(), limit: text }).args["limit"];
  expect([limit("5"), limit("5.5"), limit("none"), limit('"5"'), limit("true")]).toEqual([
    5,
    "5.5",
    "none",
    "5",
    "true",
  ]);
});

test("the server's refusals stand at the item that they name", () => {
  const refusal = (...path: string[]): Readonly<Record<string, string>> =>
    argRefusals(LISTS, [{ path: ["args", ...path], message: "no" }]);
  expect(refusal("mails", "1")).toEqual({ "mails.1": "no" });
  expect(refusal("lines", "0", "count")).toEqual({ "lines.0.count": "no" });
  expect(refusal("lines")).toEqual({ lines: "no" });
  expect(refusal("lines", "0", "other")).toEqual({ lines: "no" });
  expect(refusal("tree", "0", "children", "2", "name")).toEqual({ "tree.0.children.2.name": "no" });
});
