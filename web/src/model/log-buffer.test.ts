import { describe, expect, test } from "vitest";
import {
  appendLines,
  CHUNK,
  EMPTY_LOG,
  foldedJson,
  KEPT,
  keptLines,
  type Line,
  levelAtLeast,
  linesWith,
  logText,
} from "./log-buffer";

function lines(from: number, to: number): Line[] {
  return Array.from({ length: to - from + 1 }, (_, index) => ({
    line: from + index,
    at: "2026-01-01T00:00:00Z",
    level: "INFO",
    message: `m${from + index}`,
    fields: null,
  }));
}

describe("appending", () => {
  test("fills chunks of 50 and opens new ones", () => {
    const buffer = appendLines(EMPTY_LOG, lines(1, 120), 0, false);
    expect(buffer.chunks.map((chunk) => [chunk.first, chunk.lines.length])).toEqual([
      [1, CHUNK],
      [51, CHUNK],
      [101, 20],
    ]);
    expect(buffer.last).toBe(120);
  });

  test("touches only the last chunk", () => {
    const before = appendLines(EMPTY_LOG, lines(1, 120), 0, false);
    const after = appendLines(before, lines(121, 130), 0, false);
    expect(after.chunks[0]).toBe(before.chunks[0]);
    expect(after.chunks[1]).toBe(before.chunks[1]);
    expect(after.chunks[2]?.lines).toHaveLength(30);
  });

  test("does not repeat lines after a reconnection", () => {
    const before = appendLines(EMPTY_LOG, lines(1, 10), 0, false);
    expect(appendLines(before, lines(8, 12), 0, false).chunks[0]?.lines.map((line) => line.line)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
    ]);
    expect(appendLines(before, lines(1, 10), 0, false)).toBe(before);
  });

  test("keeps gaps that the server cut, and the end mark", () => {
    const buffer = appendLines(EMPTY_LOG, [...lines(1, 2), ...lines(90, 91)], 87, true);
    expect(buffer).toMatchObject({ last: 91, cut: 87, ended: true });
    expect(appendLines(buffer, [], 87, true)).toBe(buffer);
  });
});

test("levels are ordered, unknown ones always show", () => {
  expect([levelAtLeast("INFO", "WARNING"), levelAtLeast("ERROR", "WARNING"), levelAtLeast("TRACE", "ERROR")]).toEqual([
    false,
    true,
    true,
  ]);
});

test("the newest lines are kept, as many as the server keeps", () => {
  let buffer = EMPTY_LOG;
  for (let from = 1; from < 3 * KEPT; from += 1000) buffer = appendLines(buffer, lines(from, from + 999), 0, false);
  expect(keptLines(buffer)).toBeGreaterThanOrEqual(KEPT);
  expect(keptLines(buffer)).toBeLessThanOrEqual(KEPT + CHUNK);
  expect(buffer.last).toBe(3 * KEPT);
  expect(buffer.chunks.at(-1)?.lines.at(-1)?.line).toBe(3 * KEPT);
});

test("a text is found in any case, in lines of the level that is shown", () => {
  const [first, second] = lines(1, 2);
  const some = [
    { ...first!, message: "Order \u001b[31m17\u001b[0m" },
    { ...second!, message: "nothing", level: "ERROR", fields: { order: 17 } },
  ];
  const buffer = appendLines(EMPTY_LOG, some, 0, true);
  expect(linesWith(buffer, "ORDER", "DEBUG")).toEqual([1, 2]);
  expect(linesWith(buffer, "order 17", "DEBUG")).toEqual([1]);
  expect(linesWith(buffer, "order", "ERROR")).toEqual([2]);
  expect(linesWith(buffer, "", "DEBUG")).toEqual([]);
});

test("a message that is JSON is folded, any other is none", () => {
  expect(foldedJson('{"a":[1]}')).toBe('{\n  "a": [\n    1\n  ]\n}');
  expect([foldedJson("[info] started [x]"), foldedJson("17"), foldedJson("")]).toEqual([null, null, null]);
});

test("a file has one line each, with its fields", () => {
  const line = { line: 1, at: "2026-01-01T00:00:00Z", level: "INFO", message: "done", fields: { rows: 7 } };
  expect(logText([line])).toBe("2026-01-01T00:00:00Z INFO     done rows=7\n");
  expect(logText([])).toBe("");
});
