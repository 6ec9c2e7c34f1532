import { expect, test } from "vitest";
import { dayName, dayWords, nextShift, shiftWords, stripOf } from "./calendar-strip";

const NOW = Date.parse("2026-10-23T10:00:00Z");

test("each day has its times on the zone's own calendar", () => {
  const days = stripOf(
    ["2026-10-23T22:30:00Z", "2026-10-24T22:30:00Z", "2026-10-25T23:30:00Z"],
    "Europe/Berlin",
    NOW,
    true,
  );
  expect(days.map(({ date, times }) => [date, ...times])).toEqual([
    ["2026-10-23"],
    ["2026-10-24", "00:30:00"],
    ["2026-10-25", "00:30:00"],
    ["2026-10-26", "00:30:00"],
  ]);
});

test("weekends and days on which clocks change are told", () => {
  const days = stripOf(["2026-10-26T08:00:00Z"], "Europe/Berlin", NOW, true);
  expect(days.map(({ weekend, shift }) => [weekend, shift])).toEqual([
    [false, 0],
    [true, 0],
    [true, -60],
    [false, 0],
  ]);
  expect(dayWords(days[2] ?? days[0]!)).toBe("weekend, no run; clocks go back 60 min");
  const [day] = stripOf(["2027-03-28T08:00:00Z"], "Europe/Berlin", Date.parse("2027-03-28T00:00:00Z"), true);
  expect(day?.shift).toBe(60);
});

test("a strip has two weeks, longer ones as far as times are known, and never more than six weeks", () => {
  expect(stripOf(["2026-10-23T12:00:00Z"], "UTC", NOW, false)).toHaveLength(14);
  expect(stripOf(["2026-10-23T12:00:00Z"], "UTC", NOW, true)).toHaveLength(1);
  expect(stripOf(["2026-11-13T12:00:00Z"], "UTC", NOW, false)).toHaveLength(22);
  expect(stripOf(["2027-10-23T12:00:00Z"], "UTC", NOW, false)).toHaveLength(42);
});

test("without times, or in a zone that the browser does not know, there is none", () => {
  expect([stripOf([], "UTC", NOW, false), stripOf(["2026-10-23T12:00:00Z"], "Mars/Olympus", NOW, false)]).toEqual([
    [],
    [],
  ]);
});

test("a day says how many times it has", () => {
  const [day] = stripOf(["2026-10-23T11:00:00Z", "2026-10-23T12:00:00Z"], "UTC", NOW, true);
  expect(day && dayWords(day)).toBe("2 runs, the first at 11:00:00");
});

test("the next change of a zone's clocks is found within a year, however far it is", () => {
  expect(nextShift("Europe/Berlin", NOW)).toEqual({ date: "2026-10-25", minutes: -60 });
  const spring = nextShift("Europe/Berlin", Date.parse("2026-11-24T00:00:00Z"));
  expect(spring).toEqual({ date: "2027-03-28", minutes: 60 });
  expect(spring && shiftWords(spring, "Europe/Berlin")).toBe(
    "Clocks in Europe/Berlin go forward 60 min on Su 28 Mar 2027",
  );
  expect(nextShift("Australia/Lord_Howe", NOW)).toEqual({ date: "2027-04-04", minutes: -30 });
  expect([
    nextShift("UTC", NOW),
    nextShift("", NOW),
    nextShift("Asia/Kolkata", NOW),
    nextShift("Mars/Olympus", NOW),
  ]).toEqual([null, null, null, null]);
});

test("a day has a name", () => {
  expect(dayName("2027-03-28")).toBe("Su 28 Mar");
});
