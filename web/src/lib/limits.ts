/** The limits of a group in few words, with what is used of them. Pure. */

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
