import { expect, test } from "vitest";
import { isSilenced, silenceEnds } from "./silences";

const NOW = Date.parse("2026-03-01T03:00:00Z");

test("a silence ends by itself", () => {
  expect(isSilenced({ silenceEndsAt: "2026-03-01T03:00:01Z" }, NOW)).toBe(true);
  expect(isSilenced({ silenceEndsAt: "2026-03-01T03:00:00Z" }, NOW)).toBe(false);
  expect(isSilenced({ silenceEndsAt: null }, NOW)).toBe(false);
  const ends = ["2026-03-01T05:00:00Z", "2026-03-01T04:00:00Z", "2026-03-01T02:00:00Z", null];
  expect(
    silenceEnds(
      ends.map((silenceEndsAt) => ({ silenceEndsAt })),
      NOW,
    ),
  ).toBe(Date.parse("2026-03-01T04:00:00Z"));
  expect(silenceEnds([{ silenceEndsAt: null }], NOW)).toBeNull();
});
