import { signal } from "@preact/signals";

/** Below this many milliseconds events are as good as at once. */
export const NOTICED = 3_000;
/** Without a further event for this long the last one says nothing about now. */
const HOLDS_FOR = 5_000;

export interface Lag {
  /** How late the newest event came, in milliseconds. */
  readonly behind: number;
  /** When it came, by the page's clock. */
  readonly at: number;
}

/** How far the feed is behind, by its newest event; null while it keeps up. */
export const lag = signal<Lag | null>(null);

/** Notes an event that happened at `happened` (server's clock) and came when that clock showed `now`. */
export function noteLag(happened: number, now: number): void {
  const behind = now - happened;
  if (behind >= NOTICED) lag.value = { behind, at: Date.now() };
  else if (lag.peek() !== null) lag.value = null;
}

/** Whole seconds that the feed is behind at the page's time `now`, or null. */
export function secondsBehind(known: Lag | null, now: number): number | null {
  return known === null || now - known.at > HOLDS_FOR ? null : Math.round(known.behind / 1000);
}
