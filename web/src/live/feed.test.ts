import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LiveEvent } from "../graphql/fragments";
import { Feed } from "./feed";
import type { Subscriber } from "./link";

type EventsSubscriber = Subscriber<{ events: LiveEvent }, { after?: string | null }>;

/** Stands for the socket: keeps the subscribers, so that the test can play the server. */
function fakeLink() {
  const subscribers: EventsSubscriber[] = [];
  const subscribe = (subscriber: unknown): (() => void) => {
    subscribers.push(subscriber as EventsSubscriber);
    return () => undefined;
  };
  return { subscribers, link: { subscribe } as never };
}

function event(cursor: string, kind: LiveEvent["kind"] = "RUN_UPDATED"): { events: LiveEvent } {
  return { events: { cursor, kind } as LiveEvent };
}

const frames: (() => void)[] = [];
beforeEach(() => void vi.stubGlobal("requestAnimationFrame", (task: () => void) => frames.push(task)));
afterEach(() => {
  frames.length = 0;
  vi.unstubAllGlobals();
});
function runFrames(): void {
  for (const frame of frames.splice(0)) frame();
}

function listening(feed: Feed) {
  const seen: string[] = [];
  let resyncs = 0;
  feed.listen({ event: (next) => seen.push(next.cursor), resync: () => (resyncs += 1) });
  return { seen, resyncs: () => resyncs };
}

test("it subscribes once, after the cursor of the first query", () => {
  const { link, subscribers } = fakeLink();
  const feed = new Feed(link);
  feed.startAfter("10");
  feed.startAfter("12");
  expect(subscribers).toHaveLength(1);
  expect(subscribers[0]?.variables()).toEqual({ after: "10" });
});

test("it resumes after the last cursor it has seen", () => {
  const { link, subscribers } = fakeLink();
  const feed = new Feed(link);
  feed.startAfter("10");
  subscribers[0]?.next(event("11"));
  subscribers[0]?.next(event("12"));
  expect(subscribers[0]?.variables()).toEqual({ after: "12" });
});

test("listeners get a burst in order, in one frame", () => {
  const { link, subscribers } = fakeLink();
  const feed = new Feed(link);
  const { seen } = listening(feed);
  feed.startAfter("0");
  subscribers[0]?.next(event("1"));
  subscribers[0]?.next(event("2"));
  expect([seen, frames.length]).toEqual([[], 1]);
  runFrames();
  expect(seen).toEqual(["1", "2"]);
});

test("RESYNC makes listeners ask again and the feed go on after its cursor", () => {
  const { link, subscribers } = fakeLink();
  const feed = new Feed(link);
  const { seen, resyncs } = listening(feed);
  feed.startAfter("0");
  subscribers[0]?.next(event("90", "RESYNC"));
  runFrames();
  expect([seen, resyncs()]).toEqual([[], 1]);
  expect(subscribers[0]?.variables()).toEqual({ after: "90" });
});

test("a refused cursor starts anew from the next query", () => {
  const { link, subscribers } = fakeLink();
  const feed = new Feed(link);
  const { resyncs } = listening(feed);
  feed.startAfter("0");
  subscribers[0]?.refused?.({} as never);
  runFrames();
  expect(resyncs()).toBe(1);
  feed.startAfter("50");
  expect(subscribers[1]?.variables()).toEqual({ after: "50" });
});
