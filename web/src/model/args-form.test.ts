import { expect, test } from "vitest";
import { argFields } from "../lib/args-schema";
import { argTexts, readArgTexts } from "./args-form";

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
