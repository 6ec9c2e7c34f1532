import { expect, test } from "vitest";
import { answerOf, atFields, questionsOf, readAnswer } from "./answer";

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

test("an object is asked for field by field, a plain value by one field, and anything else as JSON", () => {
  const forms = [
    null,
    {},
    { type: "object", properties: {} },
    { $ref: "#/$defs/None" },
    { type: "object", properties: { by: { type: "string" } } },
    { type: "string" },
    { $ref: "#/$defs/Size", $defs: { Size: { title: "Size", enum: [1, 2] } } },
  ];
  expect(forms.map((form) => questionsOf(form)?.single)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    false,
    true,
    true,
  ]);
});

test("one value is sent without the object of its form, and refused at its field", () => {
  const [one, several] = [questionsOf({ type: "boolean" }), questionsOf({ properties: { by: { type: "string" } } })];
  if (one === null || several === null) throw new Error("no form");
  expect([answerOf(one, { answer: true }), answerOf(one, {}), answerOf(several, { by: "ada" })]).toEqual([
    true,
    undefined,
    { by: "ada" },
  ]);
  const errors = [
    { code: "INVALID_INPUT", message: "no", path: ["payload", "by"] },
    { code: "NOT_FOUND", message: "gone", path: ["run", "id"] },
  ];
  expect(atFields(several, errors).map(({ path }) => path)).toEqual([
    ["args", "by"],
    ["run", "id"],
  ]);
  expect(atFields(one, errors)[0]?.path).toEqual(["args", "answer", "by"]);
});
