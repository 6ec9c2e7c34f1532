import { at, within } from "../lib/base";

let leaving = false;

/** Goes to the page where one signs in, which leads back here: the session has ended. */
export function signInAgain(): void {
  // Several questions are refused at once; going there once is enough.
  if (leaving) return;
  leaving = true;
  location.assign(at(`/login?next=${encodeURIComponent(within(location.pathname) + location.search)}`));
}
