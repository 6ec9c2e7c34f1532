import { expect, test } from "vitest";
import { retentionOf } from "./retention";

const SCHEMA = { properties: { max_age_days: { type: "number", default: 30 }, max_per_task: { anyOf: [{ type: "integer" }, { type: "null" }], default: null }, max_audit_days: { type: "number", default: 365 } } };

test("what is kept is what the task says, or else what its job takes by itself", () => {
  expect(retentionOf({}, SCHEMA).map(([, howLong]) => howLong)).toEqual(["30 days", "without a limit", "365 days"]);
  expect(retentionOf({ max_age_days: 0.5, max_per_task: 1000 }, SCHEMA).map(([, howLong]) => howLong)).toEqual(["0.5 days", "the newest 1,000 runs", "365 days"]);
  expect(retentionOf(null, null).map(([, howLong]) => howLong)).toEqual(["without a limit", "without a limit", "without a limit"]);
});
