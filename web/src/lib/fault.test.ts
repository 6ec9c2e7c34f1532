import { expect, test } from "vitest";
import { isAtZone, refusalText, splitAtFault, withoutField } from "./fault";

test("the faulty item is marked up to its end", () => {
  expect(splitAtFault("0 0 22-2 * * *", 4)).toEqual(["0 0 ", "22-2", " * * *"]);
  expect(splitAtFault("0 1,/5 * * * *", 4)).toEqual(["0 1,", "/5", " * * * *"]);
  expect(splitAtFault("abc", null)).toEqual(["", "abc", ""]);
  expect(splitAtFault("abc", 3)).toEqual(["abc", "", ""]);
});

test("a wrong zone is a fault of its own field, unless it stands behind the value", () => {
  const fault = {
    message: "timezone: unknown zone 'Europe/Berlim'",
    field: "timezone",
    position: null,
    suggestion: "Europe/Berlin",
  };
  expect([isAtZone(fault), isAtZone({ ...fault, position: 4 }), isAtZone(null)]).toEqual([true, false, false]);
});

test("a message under its field does not name the field again", () => {
  expect(withoutField("value: has five fields", "value")).toBe("has five fields");
  expect(withoutField("second: step '/5' has no start", "value")).toBe("second: step '/5' has no start");
});

test.each([
  [["maxRunning"], "maxRunning: must be at most 9, got 10", "Max running must be at most 9, got 10"],
  [["args", "order_id"], "args.order_id: must be a number", "Order_id must be a number"],
  [["name"], "name: there is no task 'a'", "There is no task 'a'"],
  // No field: a colon may stand in any sentence.
  [[], "sales: must not be said", "sales: must not be said"],
  [["id"], "it is over", "it is over"],
])("a refusal of %o, '%s', is said as '%s'", (path, message, text) => {
  expect(refusalText({ message, path })).toBe(text);
});
