import { expect, test } from "vitest";
import { argFields, readArg, writeArg } from "./args-schema";
import { sameJson } from "./json";

const schema = {
  type: "object",
  properties: {
    batch: { type: "integer", default: 100, description: "Rows at once" },
    name: { anyOf: [{ type: "string" }, { type: "null" }], default: null },
    mode: { $ref: "#/$defs/Mode" },
    tags: { type: "array" },
    dry: { type: "boolean" },
  },
  required: ["mode"],
  $defs: { Mode: { enum: ["fast", "safe"], type: "string" } },
};
const fields = argFields(schema);
function field(name: string) {
  const found = fields.find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(name);
  return found;
}

test("fields keep their order and find their kind", () => {
  expect(fields.map((each) => [each.name, each.kind, each.required])).toEqual([
    ["batch", "integer", false],
    ["name", "text", false],
    ["mode", "choice", true],
    ["tags", "json", false],
    ["dry", "boolean", false],
  ]);
  expect(field("batch").hint).toBe("Rows at once; 100 unless given");
});

test("text becomes values, and an empty field the default", () => {
  expect(readArg(field("batch"), "7")).toEqual({ value: 7 });
  expect(readArg(field("batch"), "7.5")).toHaveProperty("error");
  expect(readArg(field("batch"), "")).toEqual({ value: undefined });
  expect(readArg(field("mode"), "safe")).toEqual({ value: "safe" });
  expect(readArg(field("dry"), "true")).toEqual({ value: true });
  expect(readArg(field("tags"), '["a"]')).toEqual({ value: ["a"] });
  expect(readArg(field("tags"), "a")).toHaveProperty("error");
});

test("values are written back as text", () => {
  expect([writeArg(field("batch"), 7), writeArg(field("tags"), ["a"]), writeArg(field("name"), undefined)]).toEqual([
    "7",
    '["a"]',
    "",
  ]);
});

test("something that is no object schema has no fields", () => expect(argFields(null)).toEqual([]));

test("values are the same in any order of their members", () => {
  expect(sameJson({ a: 1, b: [{ c: null, d: 2 }] }, { b: [{ d: 2, c: null }], a: 1 })).toBe(true);
  expect(sameJson({ a: 1 }, { a: "1" })).toBe(false);
});
