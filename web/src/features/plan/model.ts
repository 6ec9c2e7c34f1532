/** Planned load: hours of a week, minutes of a day, and where it is quieter. Pure. */
import { integer } from "../../lib/format";
import { full, type Zone } from "../../lib/time";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The tasks that are due in a stretch of time, as the server counts them. */
export interface LoadPoint {
  readonly at: string;
  readonly tasks: number;
  readonly names: readonly string[];
}

/** When the hour began that an instant lies in, by the clock of the zone. */
export function hourOf(at: number, zone: Zone): number {
  if (zone === "utc") return Math.floor(at / HOUR) * HOUR;
  return new Date(at).setMinutes(0, 0, 0);
}

/** When the days began: the one that an instant lies in, and so many after it. */
export function daysFrom(at: number, count: number, zone: Zone): readonly number[] {
  const first = zone === "utc" ? Math.floor(at / DAY) * DAY : new Date(at).setHours(0, 0, 0, 0);
  return Array.from({ length: count }, (_, day) =>
    zone === "utc" ? first + day * DAY : new Date(first).setDate(new Date(first).getDate() + day),
  );
}

/** An hour of the calendar; days have 24 by the clock, even where one is left out or comes twice. */
export interface CalendarHour {
  readonly from: number;
  readonly to: number;
  readonly tasks: number;
  readonly names: readonly string[];
}

/** The load by day (`2026-03-01`) and hour of the clock. */
export function calendarOf(points: readonly LoadPoint[], zone: Zone): ReadonlyMap<string, CalendarHour> {
  const hours = new Map<string, CalendarHour>();
  for (const { at, tasks, names } of points) {
    const from = Date.parse(at);
    const key = hourKey(from, zone);
    const known = hours.get(key);
    hours.set(key, {
      from: known?.from ?? from,
      to: from + HOUR,
      tasks: tasks + (known?.tasks ?? 0),
      names: [...new Set([...(known?.names ?? []), ...names])],
    });
  }
  return hours;
}

/** `2026-03-01 02`: a day and an hour of it. */
export function hourKey(at: number, zone: Zone): string {
  return full(at, zone).slice(0, 13);
}

/** The minutes with most tasks, of several alike the earliest. */
export function busiest(points: readonly LoadPoint[], count: number): readonly LoadPoint[] {
  return [...points].sort((left, right) => right.tasks - left.tasks).slice(0, count);
}

/** A minute of the hour, and the most tasks that are due at once in it when the task is. */
export interface Slot {
  readonly minute: number;
  readonly tasks: number;
}

/**
 * The minutes of the hour in which least is due in those hours in which the task is; of minutes alike those that are
 * closest to the present one.
 */
export function quieterSlots(
  points: readonly LoadPoint[],
  times: readonly string[],
  present: number,
  count: number,
): readonly Slot[] {
  const load = new Map(points.map(({ at, tasks }) => [Date.parse(at), tasks]));
  // Schedules count the minutes of the clock; there are zones whose hours begin at half of one of UTC.
  const hours = [...new Set(times.map((at) => Math.floor(Date.parse(at) / MINUTE) * MINUTE - present * MINUTE))];
  const apart = (minute: number): number => Math.abs(minute - present);
  return Array.from({ length: 60 }, (_, minute) => ({
    minute,
    tasks: Math.max(0, ...hours.map((hour) => load.get(hour + minute * MINUTE) ?? 0)),
  }))
    .filter(({ minute }) => minute !== present)
    .sort((left, right) => left.tasks - right.tasks || apart(left.minute) - apart(right.minute))
    .slice(0, count);
}

/** The minute that a cron expression of six fields names, if it is one; null otherwise. */
export function minuteOf(syntax: string, value: string): number | null {
  const minute = value.trim().split(/\s+/)[1] ?? "";
  return syntax === "CRON" && /^\d{1,2}$/.test(minute) ? Number(minute) : null;
}

/** The same expression with another minute. */
export function withMinute(value: string, minute: number): string {
  return value.trim().split(/\s+/).with(1, String(minute)).join(" ");
}

/** `41 tasks`. */
export function tasksWord(tasks: number): string {
  return `${integer(tasks)} ${tasks === 1 ? "task" : "tasks"}`;
}
