import { describe, expect, test } from "vitest";
import { INITIAL, type LinkState, OFFLINE_AFTER, resumeDelay, retryDelay, step, view } from "./link-state";

function closedAt(state: LinkState, at: number): LinkState {
  return step(state, { type: "closed", at, spread: 0, restarting: false });
}

describe("the link", () => {
  const live = step(INITIAL, { type: "opened", at: 1000 });

  test("is live once opened and remembers since when", () => {
    expect(live).toEqual({ kind: "live", since: 1000 });
    expect(step(live, { type: "opened", at: 2000 })).toBe(live);
  });

  test("waits half a second after it was cut, and then three quarters from attempt to attempt", () => {
    let state = closedAt(live, 5000);
    expect(state).toEqual({ kind: "waiting", attempt: 0, downSince: 5000, retryAt: 5500, restarting: false });
    state = closedAt(step(state, { type: "due" }), 5600);
    expect(state).toMatchObject({ attempt: 1, downSince: 5000, retryAt: 6350 });
    state = closedAt(step(state, { type: "due" }), 6400);
    expect(state).toMatchObject({ attempt: 2, retryAt: 7150 });
  });

  test("never waits longer than fifteen seconds and a quarter", () => {
    expect(retryDelay(60, 0)).toBe(15_000);
    expect(retryDelay(60, 1)).toBe(18_750);
  });

  test("finds a server that is started again within half a minute after less than a second", () => {
    const attempts = Array.from({ length: 41 }, (_, attempt) => attempt);
    expect(Math.max(...attempts.map((attempt) => retryDelay(attempt, 1)))).toBeLessThan(1000);
    expect(attempts.reduce((sum, attempt) => sum + retryDelay(attempt, 0), 0)).toBeGreaterThanOrEqual(30_000);
    expect([41, 42, 44, 45].map((attempt) => retryDelay(attempt, 0))).toEqual([1500, 3000, 12_000, 15_000]);
  });

  test("begins a subscription that ended by itself again, ever more slowly", () => {
    expect([0, 1, 2, 5, 20].map((attempt) => resumeDelay(attempt, 0))).toEqual([500, 1000, 2000, 15_000, 15_000]);
  });

  test("remembers that the server said it would stop until it is back", () => {
    const stopped = step(live, { type: "closed", at: 5000, spread: 0, restarting: true });
    const tried = closedAt(step(stopped, { type: "due" }), 6000);
    expect([stopped, tried].map((state) => view(state, 6000))).toMatchObject([
      { restarting: true },
      { restarting: true },
    ]);
    expect(view(closedAt(step(tried, { type: "opened", at: 7000 }), 8000), 8000)).toMatchObject({ restarting: false });
  });

  test("counts a second close of the same cut once", () => {
    const waiting = closedAt(live, 5000);
    expect(closedAt(waiting, 5100)).toBe(waiting);
  });

  test("ignores a due time when it is not waiting", () => {
    expect(step(live, { type: "due" })).toBe(live);
  });

  test("starts the waits again after it was live again", () => {
    const again = step(step(closedAt(live, 5000), { type: "due" }), { type: "opened", at: 6000 });
    expect(closedAt(again, 7000)).toMatchObject({ attempt: 0, downSince: 7000 });
  });
});

describe("the pill", () => {
  const live = step(INITIAL, { type: "opened", at: 1000 });
  const waiting = closedAt(live, 5000);

  test("says connecting before the first connection, live afterwards", () => {
    expect(view(INITIAL, 0)).toEqual({ kind: "connecting" });
    expect(view(live, 99_000)).toEqual({ kind: "live" });
  });

  test("counts the seconds to the next attempt, never below zero", () => {
    expect(view(waiting, 5100)).toEqual({ kind: "reconnecting", inSeconds: 1, restarting: false });
    expect(view(waiting, 9000)).toEqual({ kind: "reconnecting", inSeconds: 0, restarting: false });
  });

  test("says offline since when after twenty seconds, or at once when the browser is offline", () => {
    expect(view(waiting, 5000 + OFFLINE_AFTER)).toEqual({ kind: "offline", since: 5000 });
    expect(view(waiting, 5001, true)).toEqual({ kind: "offline", since: 5000 });
  });

  test("a first connection that fails is reconnecting, not connecting", () => {
    expect(view(closedAt(INITIAL, 3000), 3000).kind).toBe("reconnecting");
  });
});
