/** How times and durations are written. Pure: every function takes the instants it needs, in milliseconds. */

export type Zone = "utc" | "local";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function pad(value: number, width = 2): string {
  return String(value).padStart(width, "0");
}

/** A duration in seconds: `0.8 ms`, `850 ms`, `12.3 s`, `3 m 05 s`, `2 h 14 m`, `3 d 04 h`. Never negative. */
export function duration(seconds: number): string {
  const value = Math.max(0, seconds);
  if (value < 0.01) return value === 0 ? "0 ms" : `${(value * 1000).toFixed(1)} ms`;
  if (value < 0.9995) return `${Math.round(value * 1000)} ms`;
  if (value < 59.95) return `${value.toFixed(1)} s`;
  return wholeDuration(value);
}

/** A duration that ticks: whole seconds, so that it does not flicker. */
export function wholeDuration(seconds: number): string {
  const value = Math.max(0, Math.floor(seconds));
  if (value < 60) return `${value} s`;
  if (value < 3600) return `${Math.floor(value / 60)} m ${pad(value % 60)} s`;
  if (value < 86_400) return `${Math.floor(value / 3600)} h ${pad(Math.floor((value % 3600) / 60))} m`;
  return `${Math.floor(value / 86_400)} d ${pad(Math.floor((value % 86_400) / 3600))} h`;
}

/**
 * Where an instant lies seen from `now`: `now`, `in 12 s`, `in 1 m 15 s`, `in 2 h 14 m`, and, less exactly, `3 m ago`,
 * `5 d ago`.
 */
export function relative(at: number, now: number): string {
  const distance = at - now;
  const size = Math.abs(distance);
  if (size < SECOND) return "now";
  return distance > 0 ? `in ${wholeDuration(size / SECOND)}` : `${coarse(size)} ago`;
}

function coarse(size: number): string {
  if (size < MINUTE) return `${Math.floor(size / SECOND)} s`;
  if (size < HOUR) return `${Math.floor(size / MINUTE)} m`;
  if (size < DAY) return `${Math.floor(size / HOUR)} h`;
  return `${Math.floor(size / DAY)} d`;
}

/** A countdown to an instant: `1 m 05 s`, and `due` once it has come. */
export function countdown(at: number, now: number): string {
  const left = Math.ceil((at - now) / SECOND);
  return left <= 0 ? "due" : wholeDuration(left);
}

interface Parts {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

function parts(at: number, zone: Zone): Parts {
  const date = new Date(at);
  return zone === "utc"
    ? {
        year: date.getUTCFullYear(),
        month: date.getUTCMonth(),
        day: date.getUTCDate(),
        hour: date.getUTCHours(),
        minute: date.getUTCMinutes(),
        second: date.getUTCSeconds(),
      }
    : {
        year: date.getFullYear(),
        month: date.getMonth(),
        day: date.getDate(),
        hour: date.getHours(),
        minute: date.getMinutes(),
        second: date.getSeconds(),
      };
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"] as const;

/** `14:03:22`. */
export function clock(at: number, zone: Zone): string {
  const { hour, minute, second } = parts(at, zone);
  return `${pad(hour)}:${pad(minute)}:${pad(second)}`;
}

/** `14:03`. */
export function shortClock(at: number, zone: Zone): string {
  const { hour, minute } = parts(at, zone);
  return `${pad(hour)}:${pad(minute)}`;
}

/** `21 Nov`. */
export function shortDay(at: number, zone: Zone): string {
  const { day, month } = parts(at, zone);
  return `${day} ${MONTHS[month] ?? ""}`;
}

/** `14:03:22` on the day of `now`, else `21 Nov 14:03:22`, else with its year. */
export function moment(at: number, now: number, zone: Zone): string {
  const that = parts(at, zone);
  const today = parts(now, zone);
  if (that.year === today.year && that.month === today.month && that.day === today.day) return clock(at, zone);
  const day = `${that.day} ${MONTHS[that.month] ?? ""}`;
  return that.year === today.year ? `${day} ${clock(at, zone)}` : `${day} ${that.year} ${clock(at, zone)}`;
}

/** `2026-11-21 14:03:22`, for the places that show a time in full. */
export function full(at: number, zone: Zone): string {
  const { year, month, day } = parts(at, zone);
  return `${year}-${pad(month + 1)}-${pad(day)} ${clock(at, zone)}`;
}

/** The clock of an IANA zone at an instant, `2026-11-21 09:30:00`; empty if the browser does not know the zone. */
export function zonedClock(at: number, timezone: string): string {
  try {
    // The Swedish way of writing times is ISO's.
    return new Intl.DateTimeFormat("sv-SE", { timeZone: timezone, dateStyle: "short", timeStyle: "medium" }).format(at);
  } catch {
    // Zone names come from the server's database, which may be newer than the browser's: then the column is left out.
    return "";
  }
}

/** Whether the reader's clock shows an instant as UTC or as that zone does, so that it needs no column of its own. */
export function sameClock(at: number, timezone: string): boolean {
  const here = full(at, "local");
  return here === full(at, "utc") || here === zonedClock(at, timezone);
}

/** Whether a sentence about a schedule says its zone itself. */
export function namesZone(sentence: string | null, timezone: string): boolean {
  return sentence?.includes(timezone === "" ? "UTC" : timezone) ?? false;
}

/** A sentence of the server, in which times are UTC, with its times in the reader's zone. */
export function inZone(sentence: string, zone: Zone): string {
  if (zone === "utc") return sentence;
  return sentence.replace(/(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC/g, (_, day: string, clockTime: string) => {
    const at = Date.parse(`${day}T${clockTime}Z`);
    return `${full(at, zone)} ${zoneName(at, zone)}`;
  });
}

/** The name to put behind a time: `UTC`, or the local zone with its offset at that instant, such as `UTC+1`. */
export function zoneName(at: number, zone: Zone): string {
  if (zone === "utc") return "UTC";
  const minutes = -new Date(at).getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const size = Math.abs(minutes);
  const rest = size % 60 === 0 ? "" : `:${pad(size % 60)}`;
  return `UTC${minutes > 0 ? "+" : "−"}${Math.floor(size / 60)}${rest}`;
}

/** `2026-01-01T12:00` in that zone, as an input of times writes it without seconds of zero, as RFC 3339 in UTC. */
export function readTime(text: string, zone: Zone): string {
  const written = text.length === 16 ? `${text}:00` : text;
  return zone === "utc" ? `${written}Z` : new Date(written).toISOString().replace(".000Z", "Z");
}

/** A time as an `<input type="datetime-local">` takes it, in that zone. */
export function localInput(at: string | null, zone: Zone): string {
  return at === null ? "" : full(Date.parse(at), zone).replace(" ", "T");
}

/** `5s`, `500ms`, `1.5h` and `90` in seconds; null for what is none. */
export function secondsOf(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text);
  if (match === null) return null;
  const unit = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 }[
    (match[2] as "ms" | "s" | "m" | "h" | "d" | undefined) ?? "s"
  ];
  return Number(match[1]) * unit;
}
