import { serverNow } from "./clock";

/** Milliseconds until an answer is asked for again that no event makes out of date. */
export const LOOK_AGAIN = 1_500;

/**
 * When an answer goes out of date about things whose changes the feed does not tell: accounts, sign-ins, secrets, saved
 * views, what is audited.
 */
export function unannounced(): number {
  return serverNow() + LOOK_AGAIN;
}
