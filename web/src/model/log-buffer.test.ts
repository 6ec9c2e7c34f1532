import { describe, expect, test } from "vitest";
import { appendLines, CHUNK, EMPTY_LOG, type Line, levelAtLeast, logText, plainText } from "./log-buffer";

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
  test("fills chunks of 200 and opens new ones", () => {
    const buffer = appendLines(EMPTY_LOG, lines(1, 450), 0, false);
    expect(buffer.chunks.map((chunk) => [chunk.first, chunk.lines.length])).toEqual([
      [1, CHUNK],
      [201, CHUNK],
      [401, 50],
    ]);
    expect(buffer.last).toBe(450);
  });

  test("touches only the last chunk", () => {
    const before = appendLines(EMPTY_LOG, lines(1, 450), 0, false);
    const after = appendLines(before, lines(451, 460), 0, false);
    expect(after.chunks[0]).toBe(before.chunks[0]);
    expect(after.chunks[1]).toBe(before.chunks[1]);
    expect(after.chunks[2]?.lines).toHaveLength(60);
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

test("terminal codes are taken out", () => {
  expect(plainText("\u001b[31mred\u001b[0m \u001b]8;;http://x\u0007link\u0000\ttab")).toBe("red link\ttab");
});

test("a file has one line each, with its fields", () => {
  const line = { line: 1, at: "2026-01-01T00:00:00Z", level: "INFO", message: "done", fields: { rows: 7 } };
  expect(logText([line])).toBe("2026-01-01T00:00:00Z INFO     done rows=7\n");
  expect(logText([])).toBe("");
});
