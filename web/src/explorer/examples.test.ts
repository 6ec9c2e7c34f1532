import { buildSchema, parse, validate } from "graphql";
import { describe, expect, test } from "vitest";
import sdl from "../../../graphql/schema.graphql?raw";
import { EXAMPLES } from "./examples";

const schema = buildSchema(sdl);

describe("example operations", () => {
  test.each(EXAMPLES.map((example) => [example.title, example] as const))(
    "%s is valid against the schema",
    (_title, example) => {
      expect(validate(schema, parse(example.query)).map((error) => error.message)).toEqual([]);
    },
  );

  test("variables are JSON", () => {
    for (const example of EXAMPLES)
      if (example.variables !== undefined) expect(() => JSON.parse(example.variables ?? "")).not.toThrow();
  });

  test("a first visit opens some of them", () => {
    expect(EXAMPLES.filter((example) => example.opened).length).toBeGreaterThan(4);
  });
});
