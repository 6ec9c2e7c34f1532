/** Limits in few words, as they are shown and as they are typed. Pure. */

import { duration, wholeDuration } from "./time";

export interface GroupLimits {
  readonly running: number;
  readonly scheduled: number;
  readonly waiting: number;
  readonly tokens: number | null;
  readonly maxRunning: number | null;
  readonly maxWaitLow: number | null;
  readonly rate: { readonly limit: number; readonly per: number } | null;
  readonly cap: { readonly limit: number } | null;
}

/** A line for each limit; none if there is none. */
export function groupLimits(group: GroupLimits): readonly string[] {
  const { maxRunning, maxWaitLow, rate, cap } = group;
  return [
    ...(maxRunning === null ? [] : [`${group.running + group.scheduled} of ${maxRunning} at once`]),
    ...(rate === null ? [] : [`${rate.limit} in ${rate.per < 1 ? duration(rate.per) : wholeDuration(rate.per)}, ${group.tokens ?? 0} left`]),
    ...(cap === null ? [] : [`${group.waiting} of ${cap.limit} wait`]),
    ...(maxWaitLow === null ? [] : [`low waits ${wholeDuration(maxWaitLow)} at most`]),
  ];
}

export interface Rate {
  readonly limit: number;
  /** Seconds. */
  readonly per: number;
  readonly burst: number | null;
}

const UNITS: readonly (readonly [string, number])[] = [["d", 86_400], ["h", 3600], ["m", 60], ["s", 1]];
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
  if (limit === undefined || seconds === undefined) return `Write starts and a time, such as 100/1m or 100/1m, 20 at once, got '${text}'`;
  return { limit: Number(limit), per: Number(count ?? 1) * seconds, burst: burst === undefined ? null : Number(burst) };
}
