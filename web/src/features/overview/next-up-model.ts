/** What is due next, as the server plans it. Pure. */

/** The next time of a task. */
export interface NextUp {
  /** The name of the task. */
  readonly id: string;
  /** RFC 3339. */
  readonly at: string;
  readonly sentence: string;
  readonly timezone: string;
}

/** What every installation does for itself: nobody waits for it. */
export const CLEAN_UPS = [
  "cleanup_expired_challenges",
  "cleanup_expired_device_codes",
  "cleanup_expired_refresh_tokens",
  "cleanup_expired_sessions",
  "prune_history",
];

/** Tasks that are shown. */
export const NEXT_UP = 10;
/** After an occurrence is due the server needs a moment to make a run of it. */
const SETTLES = 400;

/** The earliest occurrence of each task, the next first, of so many tasks as are shown. */
export function firstOfEach(planned: readonly NextUp[]): readonly NextUp[] {
  const seen = new Set<string>();
  const inOrder = [...planned].sort((left, right) => Date.parse(left.at) - Date.parse(right.at));
  return inOrder.filter(({ id }) => !seen.has(id) && seen.add(id)).slice(0, NEXT_UP);
}

/** When to ask again: once the first of them has come due; null without any. */
export function nextLook(next: readonly NextUp[], now: number): number | null {
  const first = next[0];
  return first === undefined ? null : Math.max(now, Date.parse(first.at)) + SETTLES;
}
