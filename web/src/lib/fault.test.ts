import { expect, test } from "vitest";
import { applySuggestion, splitAtFault } from "./fault";

test("the faulty item is marked up to its end", () => {
  expect(splitAtFault("0 0 22-2 * * *", 4)).toEqual(["0 0 ", "22-2", " * * *"]);
  expect(splitAtFault("0 1,/5 * * * *", 4)).toEqual(["0 1,", "/5", " * * * *"]);
  expect(splitAtFault("abc", null)).toEqual(["", "abc", ""]);
  expect(splitAtFault("abc", 3)).toEqual(["abc", "", ""]);
});

test("a suggestion replaces the item, or the whole", () => {
  const fault = { message: "", field: "minute", position: 2, suggestion: "*/5" };
  expect(applySuggestion("0 /5 * * * *", fault)).toBe("0 */5 * * * *");
  expect(applySuggestion("*/5 * * * *", { ...fault, field: "value", position: 0, suggestion: "0 */5 * * * *" })).toBe("0 */5 * * * *");
  expect(applySuggestion("x", { ...fault, suggestion: null })).toBeNull();
});
