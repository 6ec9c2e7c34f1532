import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LiveEvent } from "../api/fragments";
import { Feed } from "./feed";
import type { Subscriber } from "./link";

type EventsSubscriber = Subscriber<{ events: LiveEvent }, { readonly after?: string | null; readonly runs?: boolean }>;

/** Stands for the socket: keeps the subscribers, so that the test can play the server. */
function fakeLink() {
  const subscribers: EventsSubscriber[] = [];
  const open = new Set<EventsSubscriber>();
  const subscribe = (subscriber: unknown): (() => void) => {
    subscribers.push(subscriber as EventsSubscriber);
    open.add(subscriber as EventsSubscriber);
    return () => void open.delete(subscriber as EventsSubscriber);
  };
  return { subscribers, open, link: { subscribe } as never };
}

function event(cursor: string, kind: LiveEvent["kind"] = "RUN_UPDATED", late = 0): { events: LiveEvent } {
  return { events: { cursor, kind, at: new Date(Date.now() - late).toISOString() } as LiveEvent };
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
  feed.listen({ event: (next) => seen.push(next.cursor), resync: () => (resyncs += 1), connected: () => undefined });
  return { seen, resyncs: () => resyncs };
}

test("it subscribes once, after the cursor of the first query", () => {
  const { link, subscribers } = fakeLink();
  const feed = new Feed(link);
  feed.startAfter("10");
  feed.startAfter("12");
  expect(subscribers).toHaveLength(1);
  expect(subscribers[0]?.variables()).toEqual({
    after: "10",
    tasks: false,
    runs: false,
    executions: false,
    nodes: false,
  });
});

test("it resumes after the last cursor it has seen", () => {
  const { link, subscribers } = fakeLink();
  const feed = new Feed(link);
  feed.startAfter("10");
  subscribers[0]?.next(event("11"));
  subscribers[0]?.next(event("12"));
  expect(subscribers[0]?.variables().after).toBe("12");
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
  expect(subscribers[0]?.variables().after).toBe("90");
});

test("a refused cursor starts again from the next query", () => {
  const { link, subscribers } = fakeLink();
  const feed = new Feed(link);
  const { resyncs } = listening(feed);
  feed.startAfter("0");
  subscribers[0]?.refused?.({} as never);
  runFrames();
  expect(resyncs()).toBe(1);
  feed.startAfter("50");
  expect(subscribers[1]?.variables().after).toBe("50");
});

test("only what some page looks at is asked for: a page that looks at more makes it subscribe again after its cursor", () => {
  vi.useFakeTimers();
  const { link, subscribers, open } = fakeLink();
  const feed = new Feed(link);
  const listener = { event: () => undefined, resync: () => undefined, connected: () => undefined };
  feed.listen(listener);
  feed.startAfter("0");
  subscribers[0]?.next(event("7"));
  const leave = feed.listen({ ...listener }, ["runs"]);
  expect([...open].map((each) => each.variables())).toEqual([
    { after: "7", tasks: false, runs: true, executions: false, nodes: false },
  ]);
  leave();
  vi.advanceTimersByTime(500);
  expect([...open].map((each) => each.variables().runs)).toEqual([false]);
  expect(subscribers).toHaveLength(3);
  vi.useRealTimers();
});

test("an answer from before the feed began takes the feed back to it: what came between is told after all", () => {
  const { link, subscribers, open } = fakeLink();
  const feed = new Feed(link);
  const { seen } = listening(feed);
  feed.startAfter("12.0");
  subscribers[0]?.next(event("13.0"));
  feed.startAfter("9.2");
  expect([...open].map((each) => each.variables().after)).toEqual(["9.2"]);
  subscribers[1]?.next(event("9.3"));
  feed.startAfter("9.10");
  expect(subscribers).toHaveLength(2);
  runFrames();
  expect(seen).toEqual(["13.0", "9.3"]);
});

test("one that is far behind is left for the pages' own questions, but not again and again", () => {
  const { link, subscribers, open } = fakeLink();
  const feed = new Feed(link);
  const { seen, resyncs } = listening(feed);
  feed.startAfter("10");
  subscribers[0]?.next(event("11"));
  subscribers[0]?.next(event("12", "RUN_UPDATED", 2_000));
  expect(open.size).toBe(0);
  runFrames();
  expect([seen, resyncs()]).toEqual([["11"], 1]);
  feed.startAfter("5000");
  expect(subscribers[1]?.variables().after).toBe("5000");
  subscribers[1]?.next(event("5001", "RUN_UPDATED", 2_000));
  runFrames();
  expect([seen, resyncs(), open.size]).toEqual([["11", "5001"], 1, 1]);
});

test("it knows what it has brought since an answer", () => {
  const { link, subscribers } = fakeLink();
  const feed = new Feed(link);
  expect(feed.isBeyond("1.0")).toBe(false);
  feed.startAfter("10.0");
  expect(feed.isBeyond("10.0")).toBe(false);
  subscribers[0]?.next(event("10.2"));
  expect([feed.isBeyond("10.0"), feed.isBeyond("10.2"), feed.isBeyond("11.0")]).toEqual([true, false, false]);
});
