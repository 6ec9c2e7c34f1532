import { describe, expect, test } from "vitest";
import {
  clock,
  countdown,
  duration,
  full,
  inZone,
  moment,
  namesZone,
  relative,
  secondsOf,
  wholeDuration,
  zonedClock,
  zoneName,
} from "./time";

const NOON = Date.UTC(2026, 10, 21, 12, 0, 0);

describe("durations", () => {
  test.each([
    [0, "0 ms"],
    [0.0008, "0.8 ms"],
    [0.85, "850 ms"],
    [0.9996, "1.0 s"],
    [12.34, "12.3 s"],
    [59.96, "59 s"],
    [185, "3 m 05 s"],
    [8040, "2 h 14 m"],
    [273_600, "3 d 04 h"],
    [-5, "0 ms"],
  ])("%d s is written %s", (seconds, text) => expect(duration(seconds)).toBe(text));

  test("ticking durations have whole seconds and are never negative", () => {
    expect([wholeDuration(59.9), wholeDuration(-3), wholeDuration(3600)]).toEqual(["59 s", "0 s", "1 h 00 m"]);
  });
});

describe("relative times", () => {
  test.each([
    [0, "now"],
    [999, "now"],
    [12_000, "in 12 s"],
    [-180_000, "3 m ago"],
    [75_000, "in 1 m 15 s"],
    [7_200_000, "in 2 h 00 m"],
    [-432_000_000, "5 d ago"],
  ])("%d ms from now is %s", (distance, text) => expect(relative(NOON + distance, NOON)).toBe(text));

  test("a countdown rounds up and ends in 'due'", () => {
    expect(countdown(NOON + 64_100, NOON)).toBe("1 m 05 s");
    expect(countdown(NOON, NOON)).toBe("due");
    expect(countdown(NOON - 1000, NOON)).toBe("due");
  });
});

describe("instants in UTC", () => {
  test("today shows the clock alone, other days their date", () => {
    expect(moment(NOON - 3_600_000, NOON, "utc")).toBe("11:00:00");
    expect(moment(NOON - 86_400_000, NOON, "utc")).toBe("20 Nov 12:00:00");
    expect(moment(NOON - 366 * 86_400_000, NOON, "utc")).toBe("20 Nov 2025 12:00:00");
  });

  test("full times are sortable and zones are named", () => {
    expect(full(NOON, "utc")).toBe("2026-11-21 12:00:00");
    expect(clock(NOON, "utc")).toBe("12:00:00");
    expect(zoneName(NOON, "utc")).toBe("UTC");
  });
});

describe("the clock of a schedule's zone", () => {
  test("it follows summer time, and is empty for a zone that the browser does not know", () => {
    expect(zonedClock(NOON, "Europe/Berlin")).toBe("2026-11-21 13:00:00");
    expect(zonedClock(Date.UTC(2026, 6, 1, 12), "Europe/Berlin")).toBe("2026-07-01 14:00:00");
    expect(zonedClock(NOON, "Mars/Olympus")).toBe("");
  });

  test("a sentence that names its zone needs no tag", () => {
    expect(namesZone("At 08:00 on Monday (Europe/Berlin)", "Europe/Berlin")).toBe(true);
    expect(namesZone("Every 5 minutes", "")).toBe(false);
  });
});

test("a sentence of the server tells its times in the zone that was chosen", () => {
  const sentence = "It is due at 2026-03-01 12:00:05 UTC, and again at 2026-03-02 12:00:05 UTC.";
  expect(inZone(sentence, "utc")).toBe(sentence);
  const at = (iso: string): string => `${full(Date.parse(iso), "local")} ${zoneName(Date.parse(iso), "local")}`;
  expect(inZone(sentence, "local")).toBe(
    `It is due at ${at("2026-03-01T12:00:05Z")}, and again at ${at("2026-03-02T12:00:05Z")}.`,
  );
});

test("durations as they are typed", () =>
  expect(["5s", "500ms", "2m", "1.5h", "1d", "90", "5 s", "-1s", ""].map(secondsOf)).toEqual([
    5,
    0.5,
    120,
    5400,
    86_400,
    90,
    null,
    null,
    null,
  ]));
