import { expect, test } from "vitest";
import { type Policies, policySentences } from "./policies";

const base: Policies = {
  overlap: "SKIP",
  misfire: "LAST",
  misfireGrace: 60,
  catchUpLimit: 100,
  tolerance: null,
  timeout: null,
  retries: 2,
  retryDelay: 60,
  jitter: 0,
  startAt: null,
  endAt: null,
};

test("the defaults in words", () => {
  expect(policySentences(base)).toEqual([
    "While one of its runs is unfinished, further occurrences are skipped.",
    "When it is more than 1 min late, only the newest missed occurrence runs.",
    "A failed run is tried again up to 2 times, first after 1 min, then twice as long each time.",
    "An attempt may take as long as it likes.",
  ]);
});

test("one retry is no series", () => {
  expect(policySentences({ ...base, retries: 1, retryDelay: 10 })).toContain(
    "A failed run is tried again once, after 10 s.",
  );
});

test("everything else in words", () => {
  const words = policySentences({
    ...base,
    overlap: "QUEUE",
    misfire: "ALL",
    timeout: 30,
    tolerance: 5,
    retries: 0,
    jitter: 12,
    endAt: "2027-01-01T00:00:00Z",
  }).join(" ");
  for (const part of [
    "never do two run",
    "newest 100 missed occurrences",
    "not tried again",
    "may take 30 s",
    "more than 5 s before",
    "up to 12 s later",
    "after 2027",
  ])
    expect(words).toContain(part);
});
