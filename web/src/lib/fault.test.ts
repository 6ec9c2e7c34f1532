import { expect, test } from "vitest";
import { applySuggestion, isAtZone, splitAtFault, withoutField } from "./fault";

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

test("a wrong zone is a fault of its own field, unless it stands behind the value", () => {
  const fault = { message: "timezone: unknown zone 'Europe/Berlim'", field: "timezone", position: null, suggestion: "Europe/Berlin" };
  expect([isAtZone(fault), isAtZone({ ...fault, position: 4 }), isAtZone(null)]).toEqual([true, false, false]);
  expect(applySuggestion("0 0 0 * * *", fault)).toBeNull();
  expect(applySuggestion("daily Europe/Berlim", { ...fault, position: 6 })).toBe("daily Europe/Berlin");
});

test("a message under its field does not name the field again", () => {
  expect(withoutField("value: has five fields", "value")).toBe("has five fields");
  expect(withoutField("second: step '/5' has no start", "value")).toBe("second: step '/5' has no start");
});
