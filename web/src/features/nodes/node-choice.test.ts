import { expect, test } from "vitest";
import { choiceOf } from "./node-choice";

const all = { groups: [], onlyJobs: [], tags: [], withoutTags: [] };

test("what a node takes is said in a line, and nothing where it takes everything", () => {
  expect(choiceOf(all)).toBe("");
  expect(choiceOf({ ...all, groups: ["a", "b"], tags: ["gpu"] })).toBe("only groups a, b; tags gpu");
  expect(choiceOf({ ...all, onlyJobs: ["work"], withoutTags: ["gpu"] })).toBe("only jobs work; without tags gpu");
});
