import { expect, test } from "vitest";
import { waterfall } from "./waterfall";

const at = (second: number): string => new Date(second * 1000).toISOString();
const step = (label: string, attempt: number, from: number, to: number | null) => ({ label, attempt, startedAt: at(from), finishedAt: to === null ? null : at(to) });

test("attempts stand over each other, on one scale", () => {
  const [first, second, ...rest] = waterfall([step("charge", 1, 0, 10), step("mail", 1, 10, 20), step("mail", 2, 60, 100)], 0, null);
  expect(rest).toEqual([]);
  expect([first?.attempt, second?.attempt]).toEqual([1, 2]);
  expect(first?.steps.map(({ place }) => place)).toEqual([{ left: 0, width: 0.1 }, { left: 0.1, width: 0.1 }]);
  expect(second?.steps.map(({ place }) => place)).toEqual([{ left: 0.6, width: 0.4 }]);
});

test("what waits grows with the clock until the run is over", () => {
  const steps = [step("charge", 1, 0, 50), step("approved", 1, 50, null)];
  const width = (now: number, over: string | null) => waterfall(steps, now * 1000, over)[0]?.steps[1]?.place?.width;
  expect(width(100, null)).toBe(0.5);
  expect(width(200, null)).toBe(0.75);
  expect(width(200, at(100))).toBe(0.5);
});

test("copied steps are of another run's time: they have no bar, and do not stretch the scale", () => {
  const [copied, own] = waterfall([step("charge", 0, 0, 10), step("mail", 1, 900, 1000)], 0, null);
  expect(copied).toMatchObject({ attempt: 0, steps: [{ place: null, isLast: true }] });
  expect(own?.steps[0]?.place).toEqual({ left: 0, width: 1 });
});

test("one goes on from the last time that a step was done", () => {
  const all = waterfall([step("mail", 1, 0, 1), step("mail", 2, 2, 3), step("mail#2", 2, 3, 4)], 0, null).flatMap(({ steps }) => steps);
  expect(all.map(({ isLast }) => isLast)).toEqual([false, true, true]);
});

test("a run without steps has no attempts to show", () => expect(waterfall([], 0, null)).toEqual([]));
