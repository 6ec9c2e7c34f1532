import { expect, test } from "vitest";
import { busiest, calendarOf, daysFrom, hourOf, minuteOf, quieterSlots, withMinute } from "./model";

const point = (at: string, tasks: number, ...names: readonly string[]) => ({ at, tasks, names });

test("a quieter minute is one with little load in the hours in which the task is due", () => {
  const points = [
    point("2026-03-01T02:00:00Z", 41),
    point("2026-03-01T02:01:00Z", 7),
    ...Array.from({ length: 57 }, (_, index) => point(`2026-03-01T02:${String(index + 2).padStart(2, "0")}:00Z`, 3)),
    // Nobody looks at the hours in which it is not due.
    point("2026-03-01T03:59:00Z", 90),
  ];
  expect(quieterSlots(points, ["2026-03-01T02:00:30Z"], 0, 3)).toEqual([
    { minute: 59, tasks: 0 },
    { minute: 2, tasks: 3 },
    { minute: 3, tasks: 3 },
  ]);
  expect(quieterSlots(points, ["2026-03-01T02:00:30Z", "2026-03-01T03:00:30Z"], 0, 1)).toEqual([
    { minute: 2, tasks: 3 },
  ]);
});

test("only an expression that names one minute can be moved to another", () => {
  expect(minuteOf("CRON", "0 30 2 * * *")).toBe(30);
  for (const value of ["0 */5 * * * *", "0 0,30 * * * *", "@daily", ""]) expect(minuteOf("CRON", value)).toBe(null);
  expect(minuteOf("INTERVAL", "1 30")).toBe(null);
  expect(withMinute("0  30 2 * * MON", 7)).toBe("0 7 2 * * MON");
});

test("hours and days are those of the clock", () => {
  const at = Date.parse("2026-03-01T12:34:56Z");
  expect(new Date(hourOf(at, "utc")).toISOString()).toBe("2026-03-01T12:00:00.000Z");
  expect(daysFrom(at, 2, "utc").map((day) => new Date(day).toISOString())).toEqual([
    "2026-03-01T00:00:00.000Z",
    "2026-03-02T00:00:00.000Z",
  ]);
  const [first = 0, second = 0] = daysFrom(at, 2, "local");
  expect([new Date(first).getHours(), new Date(second).getHours()]).toEqual([0, 0]);
  expect(hourOf(at, "local") % 900_000).toBe(0);
});

test("the calendar has an hour once, with all that is due in it", () => {
  const hours = calendarOf([point("2026-03-01T02:00:00Z", 2, "a", "b"), point("2026-03-01T02:30:00Z", 1, "b")], "utc");
  expect([...hours]).toEqual([
    [
      "2026-03-01 02",
      {
        from: Date.parse("2026-03-01T02:00:00Z"),
        to: Date.parse("2026-03-01T03:30:00Z"),
        tasks: 3,
        names: ["a", "b"],
      },
    ],
  ]);
});

test("the busiest minutes come first", () => {
  expect(busiest([point("a", 1), point("b", 3), point("c", 3)], 2).map(({ at }) => at)).toEqual(["b", "c"]);
});
