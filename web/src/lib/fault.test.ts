import { expect, test } from "vitest";
import { isAtZone, splitAtFault, withoutField } from "./fault";

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
