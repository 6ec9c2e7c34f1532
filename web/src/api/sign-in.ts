import { signal } from "@preact/signals";
import { at, within } from "../lib/base";

/** Whether the page asks for a sign-in above what is open. */
export const asksToSignIn = signal(false);

let leaving = false;
/** Whether the page can ask in place. */
let inPlace = false;
let waiting: (() => void)[] = [];
/** Over once the browser has the session that it is being given; null if it is given none. */
let renewal: Promise<void> | null = null;

/** From now on an open form stays while one signs in again: the caller shows the dialog. */
export function signInInPlace(): void {
  inPlace = true;
}

/** One signs out, which ends the session before the next page is there: that is no reason to go elsewhere. */
export function leaves(): void {
  leaving = true;
}

/** Waits for what gives this browser another session, such as a new password: meanwhile nobody is asked to sign in. */
export async function renewing<T>(work: Promise<T>): Promise<T> {
  const over = (): void => {
    renewal = null;
  };
  renewal = work.then(over, over);
  return work;
}

/** Goes to the page where one signs in, which leads back here. */
export function leaveToSignIn(): void {
  // Several questions are refused at once; going there once is enough.
  if (leaving) return;
  leaving = true;
  location.assign(at(`/login?ended&next=${encodeURIComponent(within(location.pathname) + location.search)}`));
}

/**
 * The session has ended. Where a dialog is open, with what somebody may have typed, the page asks above it, and the
 * answer comes once one has signed in; else it goes to the page of sign-in, and there is none. Where another session
 * is on its way the answer comes with it.
 */
export function signInAgain(): Promise<void> {
  if (renewal !== null) return renewal;
  if (!asksToSignIn.value && !(inPlace && document.querySelector("dialog[open]") !== null)) leaveToSignIn();
  else asksToSignIn.value = true;
  return new Promise((resolve) => void waiting.push(resolve));
}

/** One has signed in: what was refused goes on. */
export function signedIn(): void {
  asksToSignIn.value = false;
  const refused = waiting;
  waiting = [];
  for (const goOn of refused) goOn();
}
