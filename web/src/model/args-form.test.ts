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
    Customer: { type: "object", properties: { name: { type: "string" }, address: { $ref: "#/$defs/Address" } }, required: ["name"] },
    Address: { type: "object", properties: { city: { type: "string" }, floors: { type: "object", additionalProperties: { type: "integer" } } } },
    Gift: { type: "object", properties: { text: { type: "string" }, wrap: { enum: ["paper", "box"] } }, required: ["text"] },
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
  expect(readArgTexts(ORDER, {})).toEqual({ args: {}, faults: { "customer.name": "Must be given: it has no default" } });
  expect(readArgTexts(ORDER, { "customer.name": "Ada", "gift.wrap": "box" })).toEqual({
    args: { customer: { name: "Ada" }, gift: { wrap: "box" } },
    faults: { "gift.text": "Must be given: it has no default" },
  });
  expect(readArgTexts(ORDER, { "customer.name": "Ada" }, { customer: { name: "Ada", address: { city: "Rome" } } }).args).toEqual({ customer: { name: "Ada" } });
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
  expect(readArgTexts(ORDER, { "customer.name": "Ada", token: secretText("OTHER") }).args["token"]).toEqual({ $secret: "OTHER" });
  expect(readArgTexts(ORDER, { "customer.name": "Ada", token: secretText("") }).faults).toEqual({ token: "Choose a secret" });
});

test("arguments that the fields cannot show are left to the JSON", () => {
  expect(canShow(ORDER, { customer: { name: "Ada" }, at: "2026-03-01T12:00:00Z", token: { $secret: "A" } })).toBe(true);
  for (const args of [{ customer: { $secret: "A" } }, { customer: "Ada" }, { at: "tomorrow" }, { day: "2026-03-01T12:00:00Z" }, { token: { a: 1 } }]) expect(canShow(ORDER, args)).toBe(false);
});

test("what the server refuses stands at the field that its path leads to", () => {
  const refused = (...path: string[]) => argRefusals(ORDER, [{ path, message: "no" }]);
  expect(refused("args", "customer", "name")).toEqual({ "customer.name": "no" });
  expect(refused("input", "args", "customer", "address", "floors", "2")).toEqual({ "customer.address.floors": "no" });
  expect([refused("args"), refused("group"), refused("args", "customer")]).toEqual([{}, {}, {}]);
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
    Customer: { type: "object", properties: { name: { type: "string" }, address: { $ref: "#/$defs/Address" } }, required: ["name"] },
    Address: { type: "object", properties: { city: { type: "string" }, floors: { type: "object", additionalProperties: { type: "integer" } } } },
    Gift: { type: "object", properties: { text: { type: "string" }, wrap: { enum: ["paper", "box"] } }, required: ["text"] },
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
  expect(readArgTexts(ORDER, {})).toEqual({ args: {}, faults: { "customer.name": "Must be given: it has no default" } });
  expect(readArgTexts(ORDER, { "customer.name": "Ada", "gift.wrap": "box" })).toEqual({
    args: { customer: { name: "Ada" }, gift: { wrap: "box" } },
    faults: { "gift.text": "Must be given: it has no default" },
  });
  expect(readArgTexts(ORDER, { "customer.name": "Ada" }, { customer: { name: "Ada", address: { city: "Rome" } } }).args).toEqual({ customer: { name: "Ada" } });
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
  expect(readArgTexts(ORDER, { "customer.name": "Ada", token: secretText("OTHER") }).args["token"]).toEqual({ $secret: "OTHER" });
  expect(readArgTexts(ORDER, { "customer.name": "Ada", token: secretText("") }).faults).toEqual({ token: "Choose a secret" });
});

test("arguments that the fields cannot show are left to the JSON", () => {
  expect(canShow(ORDER, { customer: { name: "Ada" }, at: "2026-03-01T12:00:00Z", token: { $secret: "A" } })).toBe(true);
  for (const args of [{ customer: { $secret: "A" } }, { customer: "Ada" }, { at: "tomorrow" }, { day: "2026-03-01T12:00:00Z" }, { token: { a: 1 } }]) expect(canShow(ORDER, args)).toBe(false);
});

test("what the server refuses stands at the field that its path leads to", () => {
  const refused = (...path: string[]) => argRefusals(ORDER, [{ path, message: "no" }]);
  expect(refused("args", "customer", "name")).toEqual({ "customer.name": "no" });
  expect(refused("input", "args", "customer", "address", "floors", "2")).toEqual({ "customer.address.floors": "no" });
  expect([refused("args"), refused("group"), refused("args", "customer")]).toEqual([{}, {}, {}]);
});
