import { expect, test } from "vitest";
import { commonPart, failedExecutions, failedRuns, isKnown, markEnds } from "./failures";

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

test("an error is known while it is silenced or solved, and not once it came back", () => {
  const states = ["OPEN", "SILENCED", "SOLVED", "REGRESSED"] as const;
  expect(states.filter((state) => isKnown({ state }))).toEqual(["SILENCED", "SOLVED"]);
});

test("the next silence that ends changes what is shown", () => {
  const group = (silenceEndsAt: string | null) => ({ state: "SILENCED" as const, mark: { silenceEndsAt } });
  const groups = [group("2026-03-01T05:00:00Z"), group(null), { state: "OPEN" as const, mark: null }];
  expect(markEnds(groups, Date.parse("2026-03-01T04:00:00Z"))).toBe(Date.parse("2026-03-01T05:00:00Z"));
  expect(markEnds(groups, Date.parse("2026-03-01T05:00:00Z"))).toBeNull();
});
