import { expect, test } from "vitest";
import { DOCUMENTS, documentName, newSecret, OWN, readVariables, rotated, secretName, variablesText } from "./model";

test("a ready-made document is known by its text, any other is one's own", () => {
  expect(documentName(`${DOCUMENTS["runs"]}\n`)).toBe("runs");
  expect(documentName("subscription { events { at } }")).toBe(OWN);
});

test("variables are an object or nothing", () => {
  expect(readVariables(" ")).toBeNull();
  expect(readVariables('{"job": "a"}')).toEqual({ job: "a" });
  for (const wrong of ["[1]", "null", "3", "{job"]) expect(readVariables(wrong)).toBeUndefined();
  expect([variablesText({}), variablesText(null), variablesText({ job: "a" })]).toEqual(["", "", '{"job":"a"}']);
});

test("a new secret has the form of Standard Webhooks, and a name that is free", () => {
  expect(newSecret(new Uint8Array(24))).toBe(`whsec_${"A".repeat(32)}`);
  expect(newSecret()).not.toBe(newSecret());
  expect(secretName("orders", [])).toBe("orders-key");
  expect(secretName("orders", ["orders-key", "orders-key-2"])).toBe("orders-key-3");
});

test("a rotation puts the new secret first and keeps three at most", () => {
  expect(rotated([], "a")).toEqual(["a"]);
  expect(rotated(["a", "b", "c"], "d")).toEqual(["d", "a", "b"]);
});
