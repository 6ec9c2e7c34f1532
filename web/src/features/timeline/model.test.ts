import { expect, test } from "vitest";
import { apartFor, blocksOf, foldedRow, mergeBars, type ServerRow, timelineRows } from "./model";

const NOW = Date.UTC(2026, 0, 1, 12);
const frame = { from: NOW - 3_600_000, to: NOW + 3_600_000, now: NOW, width: 720 };
const at = (second: number): string => new Date(NOW + second * 1000).toISOString();

/** A row with bars of [begin, end, count, failures] in seconds from now. */
function row(
  taskName: string | null,
  bars: readonly (readonly [number, number | null, number, number])[],
  more: Partial<ServerRow> = {},
): ServerRow {
  return {
    taskName,
    jobName: "job",
    group: null,
    isFailing: false,
    isLate: false,
    executions: bars.length,
    failures: 0,
    bars: {
      begins: bars.map(([begin]) => at(begin)),
      ends: bars.map(([, end]) => (end === null ? null : at(end))),
      counts: bars.map(([, , count]) => count),
      failures: bars.map(([, , , failures]) => failures),
      ids: bars.map((_, index) => String(index + 1)),
    },
    skips: { first: [], last: [], reasons: [], counts: [], runIds: [] },
    ...more,
  };
}

test("bars lie where their times are; a running one reaches to now", () => {
  const [only] = timelineRows([row("a", [[-600, null, 1, 0]])], [], frame);
  expect(only?.bars).toEqual([{ x: 300, width: 60, tone: "active", count: 1, failed: 0, id: "1" }]);
});

test("overlapping bars become one that counts them and their failures, and opens the newest failure", () => {
  const [only] = timelineRows(
    [
      row("a", [
        [-1000, -999, 1, 0],
        [-100, -90, 3, 1],
        [-95, -80, 2, 0],
      ]),
    ],
    [],
    frame,
  );
  expect(only?.bars.map(({ count, tone, failed, id }) => [count, tone, failed, id])).toEqual([
    [1, "good", 0, "1"],
    [5, "good", 1, "2"],
  ]);
});

test("what ended before the frame, or is planned behind it, is not drawn", () => {
  const planned = [
    { taskName: "b", group: null, at: NOW + 60_000 },
    { taskName: "b", group: null, at: NOW + 9_000_000 },
    { taskName: "b", group: null, at: NOW - 1000 },
  ];
  const rows = timelineRows([row("a", [[-9000, -8000, 1, 0]])], planned, frame);
  expect(rows.map(({ name, bars, planned: marks }) => [name, bars.length, marks])).toEqual([
    ["a", 0, []],
    ["b", 0, [{ x: 364.5, width: 3 }]],
  ]);
});

test("the order is the server's; runs without a task stand under their job; what is only planned comes last", () => {
  const rows = timelineRows(
    [row("z", [], { isFailing: true }), row(null, []), row("a", [])],
    [{ taskName: "m", group: "g", at: NOW + 1000 }],
    frame,
  );
  expect(rows.map(({ name, isTask, group }) => [name, isTask, group])).toEqual([
    ["z", true, null],
    ["job", false, null],
    ["a", true, null],
    ["m", true, "g"],
  ]);
});

test("skipped occurrences have a mark with their reason, a stretch from its first to its last", () => {
  const skips = {
    first: [at(-600), at(-9999)],
    last: [at(-300), at(-9998)],
    reasons: ["MISSED", "OVERLAP"],
    counts: [5, 1],
    runIds: [null, "7"],
  };
  const [only] = timelineRows([row("a", [], { skips })], [], frame);
  expect(only?.skips).toEqual([
    {
      x: 300,
      width: 30,
      name: "a",
      reason: "MISSED",
      count: 5,
      first: NOW - 600_000,
      last: NOW - 300_000,
      runId: null,
    },
  ]);
});

test("few rows are one block; of many those that need a person are, and the others fold by group", () => {
  const rows = timelineRows(
    [
      row("bad", [], { isFailing: true, group: "b" }),
      row("b", [], { group: "b" }),
      row("a", [], { group: "a" }),
      row("x", []),
    ],
    [],
    frame,
  );
  expect(blocksOf(rows, 4).map(({ group }) => group)).toEqual([null]);
  expect(blocksOf(rows, 3).map(({ group, rows: members }) => [group, members.map(({ name }) => name)])).toEqual([
    [null, ["bad"]],
    ["a", ["a"]],
    ["b", ["b"]],
    ["no group", ["x"]],
  ]);
});

test("a folded group counts what its rows have", () => {
  const rows = timelineRows(
    [row("a", [[-600, -590, 2, 1]], { executions: 2, failures: 1 }), row("b", [[-595, -580, 3, 0]], { executions: 3 })],
    [],
    frame,
  );
  const folded = foldedRow({ group: "g", rows });
  expect([folded.count, folded.failed, folded.bars.map(({ count, failed }) => [count, failed])]).toEqual([
    5,
    1,
    [[5, 1]],
  ]);
  const planned = rows.map((each, index) => ({
    ...each,
    planned: [
      { x: 400 + index * 20, width: 30 },
      { x: 600, width: 3 },
    ],
  }));
  expect(foldedRow({ group: "g", rows: planned }).planned).toEqual([
    { x: 400, width: 50 },
    { x: 600, width: 3 },
  ]);
});

test("a folded group shows what was skipped in it, each mark with its task", () => {
  const skips = { first: [at(-60)], last: [at(-60)], reasons: ["MISSED"], counts: [2], runIds: [null] };
  const rows = timelineRows([row("a", [], { skips }), row("b", [], { skips })], [], frame);
  expect(foldedRow({ group: "g", rows }).skips.map(({ name, reason, count }) => [name, reason, count])).toEqual([
    ["a", "MISSED", 2],
    ["b", "MISSED", 2],
  ]);
});

test("a dense row is cut into bars that still show where its failures were", () => {
  const bars = Array.from({ length: 100 }, (_, index) => ({
    x: index * 2,
    width: 3,
    tone: "good" as const,
    count: 1,
    failed: index < 5 ? 1 : 0,
    id: String(index + 1),
  }));
  const merged = mergeBars(bars);
  expect(merged.length).toBeGreaterThan(5);
  expect(merged.reduce((sum, bar) => sum + bar.count, 0)).toBe(100);
  expect(merged.map((bar) => bar.failed > 0).lastIndexOf(true)).toBe(0);
});

test("merging keeps the newest execution", () => {
  const bar = { x: 0, width: 3, tone: "good" as const, count: 1, failed: 0 };
  expect(
    mergeBars([
      { ...bar, id: "9" },
      { ...bar, id: "10" },
    ])[0]?.id,
  ).toBe("10");
});

test("what follows each other as soon as the plan has it is one bar to its end; what does not, is not", () => {
  const often = Array.from({ length: 60 }, (_, index) => ({
    taskName: "often",
    group: null,
    at: NOW + (index + 1) * 60_000,
  }));
  const [hourly, other] = timelineRows(
    [],
    [
      ...often,
      { taskName: "hourly", group: null, at: NOW + 60_000 },
      { taskName: "hourly", group: null, at: NOW + 600_000 },
    ],
    frame,
    60_000,
  );
  expect(other?.planned).toEqual([{ x: 364.5, width: 357 }]);
  expect(hourly?.planned).toHaveLength(2);
});

test("the more tasks, the fewer occurrences of each: the plan reaches its end", () => {
  expect(apartFor(1, 3600)).toBe(60);
  expect(apartFor(0, 3600)).toBe(60);
  expect(apartFor(80, 3600)).toBe(360);
  expect(apartFor(5_000, 3600)).toBe(3600);
});
