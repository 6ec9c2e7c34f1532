import { expect, test } from "vitest";
import { FrameQueue } from "./frame";

function harness() {
  const frames: (() => void)[] = [];
  let overflows = 0;
  const queue = new FrameQueue(
    () => (overflows += 1),
    (task) => frames.push(task),
  );
  return { queue, frames, overflows: () => overflows };
}

test("a burst is done in one frame, in order", () => {
  const { queue, frames } = harness();
  const done: number[] = [];
  for (let index = 0; index < 100; index += 1) queue.add(() => done.push(index));
  expect(frames).toHaveLength(1);
  expect(done).toEqual([]);
  frames[0]?.();
  expect(done).toEqual(Array.from({ length: 100 }, (_, index) => index));
});

test("work that arrives after a frame waits for the next one", () => {
  const { queue, frames } = harness();
  queue.add(() => undefined);
  frames[0]?.();
  queue.add(() => undefined);
  expect(frames).toHaveLength(2);
});

test("too much work is dropped whole and reported once", () => {
  const { queue, frames, overflows } = harness();
  let done = 0;
  for (let index = 0; index < 201; index += 1) queue.add(() => (done += 1));
  frames[0]?.();
  expect([done, overflows()]).toEqual([0, 1]);
});
