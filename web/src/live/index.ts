import { effect } from "@preact/signals";
import { setRunning, startClock } from "./clock";
import { Feed } from "./feed";
import { Link, socketUrl } from "./link";

/** The page's one connection and the one feed on it. */
export const link = new Link(socketUrl(location));
export const feed = new Feed(link);

/** Starts the clock, ties it to the connection, and reconnects at once when the browser says it is back online. */
export function startLive(): void {
  startClock();
  effect(() => setRunning(link.state.value.kind !== "waiting" && !isReconnecting()));
  let wasLive = true;
  effect(() => {
    const live = link.state.value.kind === "live";
    if (live && !wasLive) feed.connected();
    wasLive = live;
  });
  window.addEventListener("online", () => link.retryNow());
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") link.retryNow();
  });
}

function isReconnecting(): boolean {
  const state = link.state.value;
  return state.kind === "connecting" && state.downSince !== null;
}
