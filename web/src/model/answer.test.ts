import { expect, test } from "vitest";
import { hasFields, readAnswer } from "./answer";

test("an answer is any JSON, or nothing", () => {
  expect(["", "  ", "7", '"yes"', '{"by": "ada"}'].map(readAnswer)).toEqual([
    { value: undefined },
    { value: undefined },
    { value: 7 },
    { value: "yes" },
    { value: { by: "ada" } },
  ]);
  expect(readAnswer("yes")).toMatchObject({ error: expect.stringContaining("quotation marks") as string });
});

test("only an object with properties is asked for field by field", () => {
  expect(
    [
      null,
      { type: "string" },
      { type: "object", properties: {} },
      { type: "object", properties: { by: { type: "string" } } },
    ].map(hasFields),
  ).toEqual([false, false, false, true]);
});
