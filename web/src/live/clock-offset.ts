/** One measurement of the server's clock: when the page asked, when it got the answer, and what the server said. */
export interface ClockSample {
  readonly asked: number;
  readonly answered: number;
  readonly server: number;
}

/** How far the server's clock is ahead of the page's, and how long the round trip took, in milliseconds. */
export interface ClockOffset {
  readonly offset: number;
  readonly roundTrip: number;
  readonly at: number;
}

/** A worse measurement replaces a better one only when that is this old: clocks drift. */
const STALE_AFTER = 10 * 60_000;

/** Keeps the measurement with the shortest round trip: its error is at most half of that. */
export function improve(known: ClockOffset | null, sample: ClockSample): ClockOffset {
  const roundTrip = Math.max(0, sample.answered - sample.asked);
  const offset = sample.server - (sample.asked + roundTrip / 2);
  const next = { offset, roundTrip, at: sample.answered };
  if (known === null || roundTrip <= known.roundTrip || sample.answered - known.at > STALE_AFTER) return next;
  return known;
}
