import { expect, test } from "vitest";
import { brushedBy, paramsOf, readChosen, windowAt } from "./window";

const read = (query: string) => readChosen(new URLSearchParams(query));
const T = Date.UTC(2026, 0, 1, 12);
const H = 3_600_000;

test.each([
  ["", { kind: "last", range: "1h" }],
  ["range=7d", { kind: "last", range: "7d" }],
  ["range=2h", { kind: "last", range: "1h" }],
  ["from=2026-01-01T12:00:00Z&to=2026-01-01T13:00:00Z&range=7d", { kind: "fixed", from: T, to: T + H }],
  ["from=2026-01-01T13:00:00Z&to=2026-01-01T12:00:00Z", { kind: "last", range: "1h" }],
  ["from=2020-01-01T13:00:00Z&to=2026-01-01T12:00:00Z", { kind: "last", range: "1h" }],
  ["from=yesterday&to=2026-01-01T12:00:00Z", { kind: "last", range: "1h" }],
])("%s is %j", (query, chosen) => expect(read(query)).toEqual(chosen));

test("next to the past stands a sixth of it as plan, at least an hour", () => {
  expect(windowAt(read(""), T)).toEqual({ from: T - H, to: T + H });
  expect(windowAt(read("range=24h"), T)).toEqual({ from: T - 24 * H, to: T + 4 * H });
});

test("what is brushed comes back from the address, in whole seconds", () => {
  const { from, to } = paramsOf(T + 400, T + H + 400);
  expect(read(`from=${from}&to=${to}`)).toEqual({ kind: "fixed", from: T, to: T + H });
});

test("it is no shorter than a minute, and no longer than thirty days", () => {
  expect(paramsOf(T, T + 10_000)).toEqual({ from: "2026-01-01T11:59:35Z", to: "2026-01-01T12:00:35Z", range: null });
  const { from, to } = paramsOf(T - 1_000 * H, T + 1_000 * H);
  expect(Date.parse(to) - Date.parse(from)).toBe(720 * H);
});

test("arrows move the brush, with Shift they draw a span, and it stays within the window", () => {
  const right = brushedBy("ArrowRight", false, null);
  expect(right?.from).toBe(right?.to);
  expect(right?.to).toBeGreaterThan(0.5);
  const drawn = brushedBy("End", true, right);
  expect(drawn).toEqual({ from: right?.from, to: 1 });
  expect(brushedBy("ArrowRight", true, drawn)).toEqual(drawn);
  expect(brushedBy("Home", false, drawn)).toEqual({ from: 0, to: 0 });
  expect(brushedBy("j", false, drawn)).toBeNull();
});
