/** Limits in few words, as they are shown and as they are typed. Pure. */

import { plural } from "./format";
import { duration, wholeDuration } from "./time";

export interface GroupLimits {
  readonly running: number;
  readonly scheduled: number;
  readonly waiting: number;
  readonly tokens: number | null;
  readonly maxRunning: number | null;
  readonly maxWaitLow: number | null;
  readonly keep: number | null;
  readonly rate: { readonly limit: number; readonly per: number } | null;
  readonly cap: { readonly limit: number } | null;
}

/** A line for each limit; none if there is none. */
export function groupLimits(group: GroupLimits): readonly string[] {
  const { maxRunning, maxWaitLow, keep, rate, cap } = group;
  return [
    ...(maxRunning === null ? [] : [`${group.running + group.scheduled} of ${maxRunning} at once`]),
    ...(rate === null
      ? []
      : [`${rate.limit} in ${rate.per < 1 ? duration(rate.per) : wholeDuration(rate.per)}, ${group.tokens ?? 0} left`]),
    ...(cap === null ? [] : [`${group.waiting} of ${cap.limit} wait`]),
    ...(maxWaitLow === null ? [] : [`low waits ${wholeDuration(maxWaitLow)} at most`]),
    ...(keep === null ? [] : [`history kept ${wholeDuration(keep)}`]),
  ];
}

export interface Rate {
  readonly limit: number;
  /** Seconds. */
  readonly per: number;
  readonly burst: number | null;
}

const UNITS: readonly (readonly [string, number])[] = [
  ["d", 86_400],
  ["h", 3600],
  ["m", 60],
  ["s", 1],
];
const WRITTEN = /^([1-9]\d*)\s*\/\s*(\d+(?:\.\d+)?)?\s*([smhd])(?:\s*,\s*([1-9]\d*) at once)?$/;

/** `100/1m, 20 at once`. */
export function rateText({ limit, per, burst }: Rate): string {
  const [unit, seconds] = UNITS.find((one) => per % one[1] === 0) ?? ["s", 1];
  return `${limit}/${per / seconds}${unit}${burst === null ? "" : `, ${burst} at once`}`;
}

/** What `100/1m` or `100/1m, 20 at once` says, or what is wrong with it. */
export function readRate(text: string): Rate | string {
  const [, limit, count, unit, burst] = WRITTEN.exec(text.trim()) ?? [];
  const seconds = UNITS.find(([word]) => word === unit)?.[1];
  if (limit === undefined || seconds === undefined)
    return `Write starts and a time, such as 100/1m or 100/1m, 20 at once, got '${text}'`;
  return { limit: Number(limit), per: Number(count ?? 1) * seconds, burst: burst === undefined ? null : Number(burst) };
}

export interface Limits {
  readonly maxRunning: number | null;
  readonly rate: Rate | null;
  readonly cap: { readonly limit: number } | null;
}

interface JobLimits {
  readonly maxConcurrent: number | null;
  readonly rate: Rate | null;
  readonly cap: { readonly limit: number } | null;
  readonly rateKey: unknown;
  readonly concurrencyKey: unknown;
  readonly capKey: unknown;
}

/** Those limits of a job that hold for all of its runs together: of each key apart nobody counts over time. */
export function limitsOfAll(limits: JobLimits | null): Limits | null {
  if (limits === null) return null;
  const { maxConcurrent, rate, cap, rateKey, concurrencyKey, capKey } = limits;
  return {
    maxRunning: concurrencyKey == null ? maxConcurrent : null,
    rate: rateKey == null ? rate : null,
    cap: capKey == null && concurrencyKey == null ? cap : null,
  };
}

interface Used {
  readonly waiting: number;
  readonly scheduled: number;
  readonly running: number;
  readonly count: number;
}

/** The most that was used of each limit in one of these stretches, of so many seconds each. */
export function usesOf(limits: Limits | null, rows: readonly Used[], seconds: number): readonly string[] {
  const most = (of: (row: Used) => number): number => Math.round(Math.max(0, ...rows.map(of)) * 10) / 10;
  const { maxRunning = null, rate = null, cap = null } = limits ?? {};
  const allowed = rate === null ? 0 : Math.round((rate.limit * seconds) / rate.per);
  return [
    ...(maxRunning === null ? [] : [`${most((row) => row.running + row.scheduled)} of ${maxRunning} at once`]),
    ...(rate === null
      ? []
      : [
          `${plural(
            most((row) => row.count),
            "execution",
          )} in ${wholeDuration(seconds)}, of which its rate lets ${allowed} start`,
        ]),
    ...(cap === null ? [] : [`${most((row) => row.waiting)} of ${cap.limit} that wait`]),
  ];
}
