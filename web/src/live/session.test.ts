import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApiError, LinkError } from "../api/client";
import type { LiveEvent } from "../api/fragments";
import type { Listener } from "./feed";
import { type LiveQuery, Session } from "./session";

interface Data {
  readonly asOf: string;
  readonly value: number;
}

/** A page, and the server that it asks: every question waits until the test answers it. */
function open(query: Partial<LiveQuery<Data, object, number>> = {}, key = String(Math.random())) {
  const asked: { answer(data: Data): void; refuse(error: Error): void; readonly signal: AbortSignal }[] = [];
  let listener: Listener | null = null;
  const feed = {
    listen: (given: Listener) => {
      listener = given;
      return () => undefined;
    },
    startAfter: () => undefined,
    isBeyond: (asOf: string) => asOf === "0.5",
  };
  const send = (_: unknown, __: unknown, signal: AbortSignal): Promise<Data> =>
    new Promise((answer, refuse) => void asked.push({ answer, refuse, signal }));
  const session = new Session<Data, object, number>(
    key,
    () => undefined,
    feed,
    () => Date.now(),
    send,
  );
  session.use({
    document: {} as never,
    variables: () => ({}),
    init: (data) => data.value,
    outdates: () => true,
    ...query,
  });
  session.open();
  return {
    session,
    asked,
    event: (event: Partial<LiveEvent> = {}) => listener?.event(event as LiveEvent),
    connected: () => listener?.connected(),
  };
}

async function answer(question: { answer(data: Data): void } | undefined, value: number): Promise<void> {
  question?.answer({ asOf: "1.0", value });
  await vi.advanceTimersByTimeAsync(0);
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("events never cut off a question: slow answers all arrive however many events there are", async () => {
  const { session, asked, event } = open();
  await answer(asked[0], 0);
  for (let round = 1; round <= 5; round += 1) {
    for (let tick = 0; tick < 30 && asked.length === round; tick += 1) {
      event();
      await vi.advanceTimersByTimeAsync(200);
    }
    expect(asked).toHaveLength(round + 1);
    for (let tick = 0; tick < 7; tick += 1) {
      event();
      await vi.advanceTimersByTimeAsync(200);
    }
    await answer(asked[round], round);
    expect(session.state).toBe(round);
  }
  expect(asked.every((question) => !question.signal.aborted)).toBe(true);
});

test("what changes while a question is on its way is asked for after its answer", async () => {
  const { asked, event } = open();
  await answer(asked[0], 1);
  event();
  await vi.advanceTimersByTimeAsync(1000);
  expect(asked).toHaveLength(2);
  event();
  await answer(asked[1], 2);
  await vi.advanceTimersByTimeAsync(999);
  expect(asked).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(asked).toHaveLength(3);
});

test("what changes while the first question is on its way is asked for after its answer, too", async () => {
  const { asked, event } = open();
  event();
  await answer(asked[0], 1);
  await vi.advanceTimersByTimeAsync(1000);
  expect(asked).toHaveLength(2);
});

test("a fault that passes is asked again by itself, and at once when the connection is back", async () => {
  const { session, asked, connected } = open();
  asked[0]?.refuse(new ApiError([{ message: "starting", extensions: { classification: "UNAVAILABLE" } }]));
  await vi.advanceTimersByTimeAsync(999);
  expect([session.error?.message, asked.length]).toEqual(["starting", 1]);
  await vi.advanceTimersByTimeAsync(1);
  asked[1]?.refuse(new LinkError("gone"));
  await vi.advanceTimersByTimeAsync(0);
  connected();
  expect(asked).toHaveLength(3);
  await answer(asked[2], 7);
  expect([session.error, session.state]).toEqual([null, 7]);
});

test("a refusal of the question as it is, is not repeated", async () => {
  const { asked } = open();
  asked[0]?.refuse(new ApiError([{ message: "no such field", extensions: { classification: "BAD_REQUEST" } }]));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked).toHaveLength(1);
});

test("an answer that says when it goes out of date is asked for again then", async () => {
  const { asked } = open({ outdates: () => false, expires: () => Date.now() + 5_000 });
  await answer(asked[0], 1);
  await vi.advanceTimersByTimeAsync(4_999);
  expect(asked).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(100);
  expect(asked).toHaveLength(2);
});

test("the end of pruning is asked after by every page: pruned rows go without an event each", async () => {
  const { asked, event } = open({ outdates: () => false });
  await answer(asked[0], 1);
  event({ kind: "EXECUTION_FINISHED", jobName: "other" });
  await vi.advanceTimersByTimeAsync(2_000);
  expect(asked).toHaveLength(1);
  event({ kind: "EXECUTION_FINISHED", jobName: "prune_history" });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(asked).toHaveLength(2);
});

test("an answer that came with another question is taken, and asked again if the feed has gone on since", async () => {
  const taken = open({ first: { asOf: "1.0", value: 7 } });
  expect([taken.session.state, taken.session.loading, taken.asked]).toEqual([7, false, []]);
  taken.event();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(taken.asked).toHaveLength(1);
  const late = open({ first: { asOf: "0.5", value: 7 } });
  expect(late.session.state).toBe(7);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(late.asked).toHaveLength(1);
});

test("what was shown before is not replaced by the answer that came with another question", () => {
  const key = "kept";
  const first = { asOf: "1.0", value: 7 };
  open({ first }, key).session.patch(() => 8);
  const again = open({ first }, key);
  expect(again.session.state).toBe(8);
  expect(again.asked).toHaveLength(1);
});
