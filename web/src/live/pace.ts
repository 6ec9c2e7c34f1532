/** When a page asks its question again. Pure: all times are milliseconds of the page's own clock. */

/** A change seldom comes alone: this much is waited for its company. */
export const SOON = 80;
const LONGEST_PAUSE = 30_000;
const FIRST_RETRY = 1_000;
const LONGEST_RETRY = 15_000;

/** What is known of the last question: when it was asked, and how long its answer took. */
export interface LastAnswer {
  readonly asked: number;
  readonly took: number;
}

/**
 * How long to wait before a question that changes have made due: at least `every` from question to question, and three
 * times as long as the answer takes.
 */
export function untilNext(last: LastAnswer, every: number, now: number): number {
  const pause = Math.min(LONGEST_PAUSE, Math.max(every, 3 * last.took));
  return Math.max(SOON, last.asked + pause - now);
}

/** How long to wait after the `failures`-th failure in a row, counted from 0. */
export function untilRetry(failures: number): number {
  return Math.min(LONGEST_RETRY, FIRST_RETRY * 2 ** Math.min(failures, 10));
}
