import { expect, test } from "vitest";
import { refusalWords, shorterSpans } from "./refusal";

test("too many rows to be sorted are said with what they are and how they were to be ordered", () => {
  const refusal = { code: "LIMIT_SORTED_ROWS", maximum: 200_000 };
  expect(refusalWords(refusal, { rows: "executions", order: "by duration" })).toBe(
    "There are too many executions to be ordered by duration: more than 200,000.",
  );
  expect(refusalWords({ ...refusal, maximum: null }, { rows: "tasks" })).toBe(
    "There are too many tasks to be ordered like this.",
  );
});

test.each(["LIMIT_COST", "LIMIT_SEARCH_SECONDS", "LIMIT_SEARCH_BUDGET"])(
  "a search that is refused by %s has words of its own",
  (code) => {
    expect(refusalWords({ code, maximum: 1 }, { rows: "runs" })).toMatch(/runs .*looked through|runs that looking/);
  },
);

test.each(["LIMIT_DEPTH", "FORBIDDEN", null])("%s is said as the server says it", (code) => {
  expect(refusalWords({ code, maximum: 1 }, { rows: "runs" })).toBeNull();
});

test("of the spans of time those are offered that are shorter than the chosen one", () => {
  const spans = ["1h", "6h", "24h", "7d"];
  expect(shorterSpans(spans, "")).toEqual(["6h", "24h", "7d"]);
  expect(shorterSpans(spans, "30d")).toEqual(["6h", "24h", "7d"]);
  expect(shorterSpans(spans, "24h")).toEqual(["1h", "6h"]);
  expect(shorterSpans(spans, "1h")).toEqual([]);
});
