/**
 * The next times of a schedule on a strip of days. Pure; the times are the server's, here they are only put on days.
 */
import { zonedClock } from "../lib/time";

export interface StripDay {
  /** `2026-11-23`, on the calendar of the zone. */
  readonly date: string;
  readonly weekend: boolean;
  /** Clocks of the times on it, such as `09:30:00`. */
  readonly times: readonly string[];
  /** By how many minutes the zone's clocks move on it, forward above 0. */
  readonly shift: number;
}

/** Days that a strip shows at least and at most. */
const FEWEST = 14;
const MOST = 42;
const DAY = 86_400_000;

/** Minutes that the zone's clock is ahead of UTC at an instant. */
function offset(at: number, timezone: string): number {
  const clock = zonedClock(at, timezone);
  return clock === "" ? 0 : Math.round((Date.parse(`${clock.replace(" ", "T")}Z`) - at) / 60_000);
}

/** The days from `now` on, up to the last of these times; `cut`: later times are not known, so it ends there. */
export function stripOf(times: readonly string[], timezone: string, now: number, cut: boolean): readonly StripDay[] {
  const zone = timezone === "" ? "UTC" : timezone;
  const clocks = times.map((at) => zonedClock(Date.parse(at), zone)).filter((clock) => clock !== "");
  const first = zonedClock(now, zone).slice(0, 10);
  const last = clocks.at(-1)?.slice(0, 10);
  if (first === "" || last === undefined) return [];
  const start = Date.parse(`${first}T00:00:00Z`);
  const reach = Math.floor((Date.parse(`${last}T00:00:00Z`) - start) / DAY) + 1;
  const length = Math.min(MOST, cut ? reach : Math.max(FEWEST, reach));
  return Array.from({ length: Math.max(0, length) }, (_, index) => {
    const midnight = start + index * DAY;
    const date = new Date(midnight).toISOString().slice(0, 10);
    const weekday = new Date(midnight).getUTCDay();
    const begins = midnight - offset(midnight, zone) * 60_000;
    return {
      date,
      weekend: weekday === 0 || weekday === 6,
      times: clocks.filter((clock) => clock.startsWith(date)).map((clock) => clock.slice(11)),
      shift: offset(begins + DAY, zone) - offset(begins, zone),
    };
  });
}

/** A change of a zone's clocks. */
export interface Shift {
  /** The day on the calendar of the zone, `2027-03-28`. */
  readonly date: string;
  /** By how many minutes, forward above 0. */
  readonly minutes: number;
}

/** Zones that change their clocks for a month of fasting do it twice within five weeks. */
const STEP = 7 * DAY;
const AHEAD = 53 * STEP;

/** The next time that a zone changes its clocks, within a year; null if it does not. */
export function nextShift(timezone: string, now: number): Shift | null {
  if (timezone === "" || zonedClock(now, timezone) === "") return null;
  const before = offset(now, timezone);
  for (let from = now; from < now + AHEAD; from += STEP) {
    let [low, high] = [from, from + STEP];
    const minutes = offset(high, timezone) - before;
    if (minutes === 0) continue;
    while (high - low > 60_000) {
      const middle = (low + high) / 2;
      if (offset(middle, timezone) === before) low = middle;
      else high = middle;
    }
    return { date: zonedClock(high, timezone).slice(0, 10), minutes };
  }
  return null;
}

/** `Clocks in Europe/Berlin go forward 60 min on Su 28 Mar 2027`. */
export function shiftWords({ date, minutes }: Shift, timezone: string): string {
  return `Clocks in ${timezone} go ${minutes > 0 ? "forward" : "back"} ${Math.abs(minutes)} min on ${dayName(date)} ${date.slice(0, 4)}`;
}

const WEEKDAYS = ["Su", "Mo", "Tu", "We", "Th", "Fr", "Sa"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export function weekdayOf(date: string): string {
  return WEEKDAYS[new Date(`${date}T00:00:00Z`).getUTCDay()] ?? "";
}

export function monthOf(date: string): string {
  return MONTHS[Number(date.slice(5, 7)) - 1] ?? "";
}

/** `Su 28 Mar`. */
export function dayName(date: string): string {
  return `${weekdayOf(date)} ${Number(date.slice(8))} ${monthOf(date)}`;
}

/** What a day says, in words. */
export function dayWords({ times, weekend, shift }: StripDay): string {
  const [first = "", second] = times;
  const runs =
    times.length === 0
      ? "no run"
      : second === undefined
        ? `at ${first}`
        : `${times.length} runs, the first at ${first}`;
  const kind = weekend ? `weekend, ${runs}` : runs;
  if (shift === 0) return kind;
  return `${kind}; clocks go ${shift > 0 ? "forward" : "back"} ${Math.abs(shift)} min`;
}
