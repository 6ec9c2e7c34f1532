import { expect, test } from "vitest";
import { aboutAny, alarmsIn, nextLook } from "./model";

const NOW = Date.parse("2026-03-01T03:00:00Z");

function delivery(state: string, nextAttemptAt: string | null, error: string | null = null) {
  return { state, nextAttemptAt, error };
}

test("a message names its alarms", () => {
  expect(alarmsIn({ payload: { data: { alarms: [{ alarm: "late" }, { alarm: "slow" }, {}] } } })).toEqual([
    "late",
    "slow",
  ]);
  expect(alarmsIn({ payload: null })).toEqual([]);
});

test("a filter names any of some things", () => {
  expect(aboutAny([{ kind: "TASK", name: "a" }])).toEqual({
    or: [{ subjectKind: { eq: "TASK" }, subject: { eq: "a" } }],
  });
});

test("messages are looked at again after the next of their tries, and not once all have ended", () => {
  const later = delivery("PENDING", "2026-03-01T03:01:00Z", "the receiver answered 500");
  expect(nextLook([delivery("SENT", null), later], NOW)).toBe(NOW + 60_500);
  // While it is sent, the next try is the one for the case that this one comes to nothing.
  expect(nextLook([later, delivery("PENDING", "2026-03-01T03:00:45Z")], NOW)).toBe(NOW + 500);
  expect(nextLook([delivery("PENDING", "2026-03-01T02:59:00Z", "no answer")], NOW)).toBe(NOW + 500);
  expect(nextLook([delivery("SENT", null), delivery("FAILED", null)], NOW)).toBeNull();
});
