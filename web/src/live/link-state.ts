/**
 * The state of the live connection, as a pure machine: `step(state, event)` never reads a clock or a socket.
 *
 *     connecting ──opened──▶ live ──closed──▶ waiting ──due──▶ connecting
 *                 ◀───────────closed (again)──────┘
 *
 * All times are milliseconds of the page's own clock.
 */
export type LinkState =
  | {
      readonly kind: "connecting";
      readonly attempt: number;
      readonly downSince: number | null;
      readonly restarting: boolean;
    }
  | { readonly kind: "live"; readonly since: number }
  | {
      readonly kind: "waiting";
      readonly attempt: number;
      readonly downSince: number;
      readonly retryAt: number;
      readonly restarting: boolean;
    };

export type LinkEvent =
  | { readonly type: "opened"; readonly at: number }
  /**
   * `spread` is a random number from 0 to 1, so that many pages do not come back in the same instant; `restarting`: the
   * server said that it stops.
   */
  | { readonly type: "closed"; readonly at: number; readonly spread: number; readonly restarting: boolean }
  /** The waiting time is over, or somebody pressed "Retry now", or the browser came back online. */
  | { readonly type: "due" };

/** How the connection is shown: offline is a reconnection that has not succeeded for a while. */
export type LinkView =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  | { readonly kind: "reconnecting"; readonly inSeconds: number; readonly restarting: boolean }
  | { readonly kind: "offline"; readonly since: number };

const FIRST_DELAY = 500;
/** A server that is started again is found within a second: so many attempts come this often at least. */
const BRISK_DELAY = 750;
const BRISK_ATTEMPTS = 40;
const LONGEST_DELAY = 15_000;
/** After this long without a connection the page says "offline since". */
export const OFFLINE_AFTER = 20_000;

export const INITIAL: LinkState = { kind: "connecting", attempt: 0, downSince: null, restarting: false };

/**
 * Milliseconds until the next attempt: 0.5 s, half a minute long 0.75 s, then up to 15 s; up to a quarter longer by
 * `spread`.
 */
export function retryDelay(attempt: number, spread: number): number {
  const later = Math.max(0, attempt - BRISK_ATTEMPTS);
  const base = attempt === 0 ? FIRST_DELAY : Math.min(LONGEST_DELAY, BRISK_DELAY * 2 ** Math.min(later, 10));
  return Math.round(base * (1 + spread / 4));
}

/**
 * Milliseconds until a subscription that ended for a reason that passes is begun again: 0.5 s, doubled each time up to
 * 15 s.
 */
export function resumeDelay(attempt: number, spread: number): number {
  return Math.round(Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** Math.min(attempt, 10)) * (1 + spread / 4));
}

export function step(state: LinkState, event: LinkEvent): LinkState {
  switch (event.type) {
    case "opened":
      return state.kind === "live" ? state : { kind: "live", since: event.at };
    case "closed": {
      if (state.kind === "waiting") return state;
      const attempt = state.kind === "live" ? 0 : state.attempt;
      const downSince = state.kind === "live" ? event.at : (state.downSince ?? event.at);
      return {
        kind: "waiting",
        attempt,
        downSince,
        retryAt: event.at + retryDelay(attempt, event.spread),
        restarting: event.restarting || (state.kind !== "live" && state.restarting),
      };
    }
    case "due":
      return state.kind === "waiting"
        ? { kind: "connecting", attempt: state.attempt + 1, downSince: state.downSince, restarting: state.restarting }
        : state;
  }
}

/** What the pill shows at the time `now`; `browserOffline` is the browser's own opinion. */
export function view(state: LinkState, now: number, browserOffline = false): LinkView {
  if (state.kind === "live") return { kind: "live" };
  const { downSince } = state;
  if (downSince === null) return { kind: "connecting" };
  if (browserOffline || now - downSince >= OFFLINE_AFTER) return { kind: "offline", since: downSince };
  const inSeconds = state.kind === "waiting" ? Math.max(0, Math.ceil((state.retryAt - now) / 1000)) : 0;
  return { kind: "reconnecting", inSeconds, restarting: state.restarting };
}
