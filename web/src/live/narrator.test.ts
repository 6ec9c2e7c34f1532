import { expect, test } from "vitest";
import { failureSentence } from "./narrator";

test("one failure is told by its name, several in one sentence", () => {
  expect(failureSentence(["import"])).toBe("import failed");
  expect(failureSentence(["import", "import"])).toBe("2 executions failed: import");
  expect(failureSentence(["a", "b", "c", "d"])).toBe("4 executions failed: a, b, c and others");
});
