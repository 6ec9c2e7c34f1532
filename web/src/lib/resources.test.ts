import { expect, test } from "vitest";
import { type Resources, readResources, resourcesText } from "./resources";

const NONE: Resources = { cpus: null, memory: null, gpus: null, image: null, queue: null, options: {} };

test("resources are written as they are typed, and read back", () => {
  const all = { cpus: 0.5, memory: 8 * 2 ** 30, gpus: 2, image: "shop:1", queue: "long", options: { account: "a=b" } };
  const text = "cpus=0.5, memory=8GiB, gpus=2, image=shop:1, queue=long, account=a=b";
  expect(resourcesText(all)).toBe(text);
  expect(readResources(text)).toEqual(all);
  expect(resourcesText({ ...NONE, memory: String(2 ** 40) })).toBe("memory=1TiB");
  expect(resourcesText({ ...NONE, memory: 1000 })).toBe("memory=1000");
  expect([resourcesText(NONE), readResources(" , ")]).toEqual(["", null]);
});

test.each([
  ["a,b", 'gpus=1, nodelist="a,b"'],
  ['say "hi", gpus=8', 'gpus=1, nodelist="say \\"hi\\", gpus=8"'],
  ["", 'gpus=1, nodelist=""'],
  [" a\\", 'gpus=1, nodelist=" a\\\\"'],
  ["[rack1|rack2]", "gpus=1, nodelist=[rack1|rack2]"],
])("an option with the text %j is written so that it is read back", (nodelist, text) => {
  expect(resourcesText({ ...NONE, gpus: 1, options: { nodelist } })).toBe(text);
  expect(readResources(text)).toEqual({ gpus: 1, options: { nodelist } });
});

test("a quotation mark alone is a character", () => {
  expect(readResources('a=5", b=6')).toEqual({ options: { a: '5"', b: "6" } });
});

test.each([
  ["memory=1.5g", 1.5 * 2 ** 30],
  ["memory=512 MiB", 2 ** 29],
  ["memory=1024", 1024],
])("%s is so many bytes", (text, bytes) => {
  expect(readResources(text)).toEqual({ memory: bytes });
});

test.each([
  ["gpus", "Write name=value, such as gpus=2, got 'gpus'"],
  ["gpus=1, gpus=2", "'gpus' is given twice"],
  ["qos=a, qos=b", "'qos' is given twice"],
  ["gpus=0.5", "gpus must be a whole number above 0, got '0.5'"],
  ["memory=8PB", "memory must be a whole number above 0, got '8PB'"],
  ["cpus=many", "cpus must be a number above 0, got 'many'"],
])("%s is refused", (text, said) => {
  expect(readResources(text)).toBe(said);
});
