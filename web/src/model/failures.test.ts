import { expect, test } from "vitest";
import { commonPart, failedExecutions, failedRuns } from "./failures";

test("the common part of a message has nothing that varies", () => {
  expect(commonPart("user 17 is missing")).toBe("is missing");
  expect(commonPart("'42'")).toBe("");
});

test("the runs and the log of a group are found by its job and that part", () => {
  const group = { jobName: "a & b", message: "user 17 is missing" };
  expect(failedRuns(group).toString()).toBe("state=FAILED&job=a+%26+b&error=is+missing");
  expect(failedRuns({ ...group, message: "17" }).has("error")).toBe(false);
  expect(failedExecutions(group, "7d").toString()).toBe("job=a+%26+b&outcome=failures&range=7d&q=is+missing");
});
