import { signal } from "@preact/signals";
import { type ClockOffset, improve } from "./clock-offset";

let known: ClockOffset | null = null;
let frozenAt: number | null = null;

/** The server's time in milliseconds, as this page knows it: the only clock that the dashboard shows. */
export function serverNow(): number {
  return Date.now() + (known?.offset ?? 0);
}

/** Ticks once a second; stands still while the connection is down, so that no timer pretends to know. */
export const now = signal(serverNow());
/** Whether the clock stands still: timers are greyed out. */
export const frozen = signal(false);

/** Notes the `serverTime` of an answer. */
export function noteServerTime(asked: number, serverTime: string): void {
  known = improve(known, { asked, answered: Date.now(), server: Date.parse(serverTime) });
  tick();
}

function tick(): void {
  if (frozenAt === null) now.value = serverNow();
}

/** Stops the clock when the link is lost and starts it when it is back. */
export function setRunning(running: boolean): void {
  frozenAt = running ? null : (frozenAt ?? now.peek());
  frozen.value = !running;
  tick();
}

/** Starts ticking, on whole seconds of the server's clock; answers how to stop. */
export function startClock(): () => void {
  let timer = 0;
  const schedule = (): void => {
    tick();
    timer = window.setTimeout(schedule, 1000 - (serverNow() % 1000) + 5);
  };
  schedule();
  return () => window.clearTimeout(timer);
}
