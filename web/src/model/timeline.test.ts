import { expect, test } from "vitest";
import type { ExecutionRow } from "../graphql/fragments";
import { apartFor, axisTicks, mergeBars, timelineRows } from "./timeline";

const NOW = Date.UTC(2026, 0, 1, 12);
const frame = { from: NOW - 3_600_000, to: NOW + 3_600_000, now: NOW, width: 720 };

function execution(id: string, taskName: string | null, start: number, end: number | null, outcome: string | null): ExecutionRow {
  return {
    id,
    taskName,
    jobName: "job",
    startedAt: new Date(NOW + start * 1000).toISOString(),
    completedAt: end === null ? null : new Date(NOW + end * 1000).toISOString(),
    outcome,
    success: outcome === "SUCCESS",
  } as ExecutionRow;
}

test("bars lie where their times are; a running one reaches to now", () => {
  const [row] = timelineRows([execution("1", "a", -600, null, null)], [], frame);
  expect(row?.bars).toEqual([{ x: 300, width: 60, tone: "active", count: 1, failed: 0, id: "1" }]);
});

test("overlapping bars become one that counts them and their failures", () => {
  const [row] = timelineRows([execution("1", "a", -100, -90, "SUCCESS"), execution("2", "a", -95, -80, "FAILED"), execution("3", "a", -1000, -999, "SUCCESS")], [], frame);
  expect(row?.bars.map((bar) => [bar.count, bar.tone, bar.failed])).toEqual([[1, "good", 0], [2, "good", 1]]);
  expect([row?.count, row?.failed]).toEqual([3, 1]);
});

test("what ended before the frame, or is planned behind it, is not drawn", () => {
  const planned = [{ taskName: "b", at: NOW + 60_000 }, { taskName: "b", at: NOW + 9_000_000 }, { taskName: "b", at: NOW - 1000 }];
  const rows = timelineRows([execution("1", "a", -9000, -8000, "SUCCESS")], planned, frame);
  expect(rows.map((row) => [row.name, row.bars.length, row.planned])).toEqual([["b", 0, [{ x: 364.5, width: 3 }]]]);
});

test("runs without a task stand under their job; rows are in the order of their names", () => {
  const rows = timelineRows([execution("1", "z", -10, -5, "SUCCESS"), execution("2", null, -10, -5, "SUCCESS")], [], frame);
  expect(rows.map((row) => [row.name, row.isTask])).toEqual([["job", false], ["z", true]]);
});

test("a dense row is cut into bars that still show where its failures were", () => {
  const bars = Array.from({ length: 100 }, (_, index) => ({ x: index * 2, width: 3, tone: "good" as const, count: 1, failed: index < 5 ? 1 : 0, id: String(index + 1) }));
  const merged = mergeBars(bars);
  expect(merged.length).toBeGreaterThan(5);
  expect(merged.reduce((sum, bar) => sum + bar.count, 0)).toBe(100);
  expect(merged.map((bar) => bar.failed > 0).lastIndexOf(true)).toBe(0);
});

test("merging keeps the newest execution", () => {
  const bar = { x: 0, width: 3, tone: "good" as const, count: 1, failed: 0 };
  expect(mergeBars([{ ...bar, id: "9" }, { ...bar, id: "10" }])[0]?.id).toBe("10");
});

test("the axis has few, round times", () => {
  const ticks = axisTicks(frame.from + 1, frame.to);
  expect(ticks.length).toBeLessThanOrEqual(9);
  expect(ticks.every((tick) => tick % 900_000 === 0)).toBe(true);
});

test("what follows each other as soon as the plan has it is one bar to its end; what does not, is not", () => {
  const often = Array.from({ length: 60 }, (_, index) => ({ taskName: "often", at: NOW + (index + 1) * 60_000 }));
  const [hourly, row] = timelineRows([], [...often, { taskName: "hourly", at: NOW + 60_000 }, { taskName: "hourly", at: NOW + 600_000 }], frame, 60_000);
  expect(row?.planned).toEqual([{ x: 364.5, width: 357 }]);
  expect(hourly?.planned).toHaveLength(2);
});

test("the more tasks, the fewer occurrences of each: the plan reaches its end", () => {
  expect(apartFor(1, 3600)).toBe(60);
  expect(apartFor(0, 3600)).toBe(60);
  expect(apartFor(80, 3600)).toBe(360);
  expect(apartFor(5_000, 3600)).toBe(3600);
});
