/** The timeline: a row per task, bars by outcome, marks for what was skipped and for what is planned. Pure. */
import type { Tone } from "../../lib/status";

/** A row as the server has it: executions and skips as columns. */
export interface ServerRow {
  readonly taskName: string | null;
  readonly jobName: string | null;
  readonly group: string | null;
  readonly isFailing: boolean;
  readonly isLate: boolean;
  readonly executions: number;
  readonly failures: number;
  readonly bars: {
    readonly begins: readonly string[];
    readonly ends: readonly (string | null)[];
    readonly counts: readonly number[];
    readonly failures: readonly number[];
    readonly ids: readonly string[];
  };
  readonly skips: {
    readonly first: readonly string[];
    readonly last: readonly string[];
    readonly reasons: readonly string[];
    readonly counts: readonly number[];
    readonly runIds: readonly (string | null)[];
  };
}

/** A planned occurrence. */
export interface Planned {
  readonly taskName: string;
  readonly group: string | null;
  readonly at: number;
}

export interface Bar {
  /** Pixels. */
  readonly x: number;
  readonly width: number;
  /** The colour; failures among several are drawn as a red share of the bar. */
  readonly tone: Tone;
  /** How many executions are drawn as this one bar. */
  readonly count: number;
  readonly failed: number;
  /** The newest failure of the bar, or else its newest execution, to open it. */
  readonly id: string;
}

/** One planned occurrence, or many that follow each other so soon that they are drawn as one. In pixels. */
export interface Ahead {
  readonly x: number;
  readonly width: number;
}

/** Occurrences that became no run. In pixels. */
export interface SkipMark {
  readonly x: number;
  readonly width: number;
  /** The task whose they are. */
  readonly name: string;
  readonly reason: string;
  readonly count: number;
  /** Nominal times, in milliseconds. */
  readonly first: number;
  readonly last: number;
  /** The run that stood in the way. */
  readonly runId: string | null;
}

export interface TimelineRow {
  readonly name: string;
  readonly isTask: boolean;
  readonly group: string | null;
  readonly isFailing: boolean;
  readonly isLate: boolean;
  readonly bars: readonly Bar[];
  readonly planned: readonly Ahead[];
  readonly skips: readonly SkipMark[];
  readonly count: number;
  readonly failed: number;
}

export interface Frame {
  /** Milliseconds at the left and the right edge. */
  readonly from: number;
  readonly to: number;
  readonly now: number;
  /** Pixels. */
  readonly width: number;
}

const NARROWEST = 3;
/** Bars closer than this are drawn as one. */
const GAP = 1;

/** A merged bar grows no wider than this, so that a dense row still shows when its failures were. */
const WIDEST_MERGED = 26;
/** The more urgent of two tones decides the colour of a merged bar; failures have their share of it instead. */
const URGENCY: readonly Tone[] = ["bad", "good", "idle", "active", "warn"];

function urgent(left: Tone, right: Tone): Tone {
  return URGENCY.indexOf(left) >= URGENCY.indexOf(right) ? left : right;
}

/** Where a stretch of time lies in the frame; null outside of it. */
function stretch(first: number, last: number, frame: Frame): { readonly x: number; readonly width: number } | null {
  if (last < frame.from || first > frame.to) return null;
  const scale = frame.width / (frame.to - frame.from);
  const x = Math.max(0, (first - frame.from) * scale);
  return { x, width: Math.max(NARROWEST, Math.min(frame.width, (last - frame.from) * scale) - x) };
}

function barsOf({ bars }: ServerRow, frame: Frame): readonly Bar[] {
  return bars.begins.flatMap((begin, index): readonly Bar[] => {
    const end = bars.ends[index] ?? null;
    const place = stretch(Date.parse(begin), end === null ? frame.now : Date.parse(end), frame);
    if (place === null) return [];
    const [count, failed] = [bars.counts[index] ?? 1, bars.failures[index] ?? 0];
    return [
      {
        ...place,
        tone: end === null ? "active" : failed === count ? "bad" : "good",
        count,
        failed,
        id: bars.ids[index] ?? "",
      },
    ];
  });
}

function skipsOf({ taskName, jobName, skips }: ServerRow, frame: Frame): readonly SkipMark[] {
  return skips.first.flatMap((begin, index): readonly SkipMark[] => {
    const [first, last] = [Date.parse(begin), Date.parse(skips.last[index] ?? begin)];
    const place = stretch(first, last, frame);
    return place === null
      ? []
      : [
          {
            ...place,
            name: taskName ?? jobName ?? "",
            reason: skips.reasons[index] ?? "",
            count: skips.counts[index] ?? 1,
            first,
            last,
            runId: skips.runIds[index] ?? null,
          },
        ];
  });
}

/** Joins bars that overlap or touch, up to a width; the count says how many they stand for. */
export function mergeBars(bars: readonly Bar[]): readonly Bar[] {
  const merged: Bar[] = [];
  for (const bar of [...bars].sort((left, right) => left.x - right.x)) {
    const last = merged.at(-1);
    if (last === undefined || bar.x > last.x + last.width + GAP) {
      merged.push(bar);
      continue;
    }
    if (last.width >= WIDEST_MERGED && bar.x + bar.width > last.x + last.width) {
      const x = last.x + last.width + GAP;
      merged.push({ ...bar, x, width: Math.max(NARROWEST, bar.x + bar.width - x) });
      continue;
    }
    merged[merged.length - 1] = {
      x: last.x,
      width: Math.max(last.x + last.width, bar.x + bar.width) - last.x,
      tone: urgent(last.tone, bar.tone),
      count: last.count + bar.count,
      failed: last.failed + bar.failed,
      id: newer(last, bar).id,
    };
  }
  return merged;
}

/** Of two bars the one to open: that of the newer failure, or else of the newer execution. */
function newer(left: Bar, right: Bar): Bar {
  if (left.failed > 0 !== right.failed > 0) return left.failed > 0 ? left : right;
  return Number(right.id) > Number(left.id) ? right : left;
}

/**
 * The rows in the order of the server, which puts first what needs a person; tasks that are only planned come last, by
 * name. `apart`: of each task the plan has at most one occurrence in so many milliseconds.
 */
export function timelineRows(
  rows: readonly ServerRow[],
  planned: readonly Planned[],
  frame: Frame,
  apart = 0,
): readonly TimelineRow[] {
  const scale = frame.width / (frame.to - frame.from);
  const marks = new Map<string, number[]>();
  const groups = new Map(planned.map(({ taskName, group }) => [taskName, group]));
  for (const { taskName, at } of planned)
    if (at > frame.now && at <= frame.to)
      marks.set(taskName, [...(marks.get(taskName) ?? []), (at - frame.from) * scale]);
  const known = rows.map((row): TimelineRow => {
    const ahead = row.taskName === null ? [] : (marks.get(row.taskName) ?? []);
    if (row.taskName !== null) marks.delete(row.taskName);
    return {
      name: row.taskName ?? row.jobName ?? "",
      isTask: row.taskName !== null,
      group: row.group,
      isFailing: row.isFailing,
      isLate: row.isLate,
      bars: mergeBars(barsOf(row, frame)),
      planned: aheadOf(ahead, apart * scale),
      skips: skipsOf(row, frame),
      count: row.executions,
      failed: row.failures,
    };
  });
  const only = [...marks].sort(([left], [right]) => left.localeCompare(right));
  return [
    ...known,
    ...only.map(
      ([name, ahead]): TimelineRow => ({
        name,
        isTask: true,
        group: groups.get(name) ?? null,
        isFailing: false,
        isLate: false,
        bars: [],
        planned: aheadOf(ahead, apart * scale),
        skips: [],
        count: 0,
        failed: 0,
      }),
    ),
  ];
}

/** Rows that belong together; those that need a person stand before all groups, under none. */
export interface Block {
  /** Null for the rows that are always shown. */
  readonly group: string | null;
  readonly rows: readonly TimelineRow[];
}

/** What rows without a group stand under. */
export const UNGROUPED = "no group";

/** Few rows are one block. Of many, those that need a person are, and the others fold by their groups. */
export function blocksOf(rows: readonly TimelineRow[], few: number): readonly Block[] {
  if (rows.length <= few) return [{ group: null, rows }];
  const groups = new Map<string, TimelineRow[]>();
  const loud = rows.filter(({ isFailing, isLate }) => isFailing || isLate);
  for (const row of rows)
    if (!row.isFailing && !row.isLate)
      groups.set(row.group ?? UNGROUPED, [...(groups.get(row.group ?? UNGROUPED) ?? []), row]);
  const folded = [...groups].sort(
    ([left], [right]) => Number(left === UNGROUPED) - Number(right === UNGROUPED) || left.localeCompare(right),
  );
  return [{ group: null, rows: loud }, ...folded.map(([group, members]): Block => ({ group, rows: members }))];
}

/** The rows of a folded group as one: their bars and marks laid over each other. */
export function foldedRow(block: Block): TimelineRow {
  const sum = (read: (row: TimelineRow) => number): number => block.rows.reduce((all, row) => all + read(row), 0);
  return {
    name: block.group ?? "",
    isTask: false,
    group: block.group,
    isFailing: false,
    isLate: false,
    bars: mergeBars(block.rows.flatMap(({ bars }) => bars)),
    planned: joined(block.rows.flatMap(({ planned }) => planned)),
    skips: block.rows.flatMap(({ skips }) => skips),
    count: sum(({ count }) => count),
    failed: sum(({ failed }) => failed),
  };
}

/** Stretches of the plan laid over each other. */
function joined(stretches: readonly Ahead[]): readonly Ahead[] {
  const drawn: Ahead[] = [];
  for (const { x, width } of [...stretches].sort((left, right) => left.x - right.x)) {
    const last = drawn.at(-1);
    if (last !== undefined && x <= last.x + last.width)
      drawn[drawn.length - 1] = { x: last.x, width: Math.max(last.x + last.width, x + width) - last.x };
    else drawn.push({ x, width });
  }
  return drawn;
}

/** Marks that lie on top of each other, or between which the plan leaves others out, are drawn as one. */
function aheadOf(marks: readonly number[], apart: number): readonly Ahead[] {
  const drawn: Ahead[] = [];
  for (const mark of [...marks].sort((left, right) => left - right)) {
    const last = drawn.at(-1);
    const x = mark - NARROWEST / 2;
    const follows = last !== undefined && x - (last.x + last.width) < Math.max(0, apart * OFTEN - NARROWEST);
    if (last !== undefined && (follows || x < last.x + last.width))
      drawn[drawn.length - 1] = { x: last.x, width: x + NARROWEST - last.x };
    else drawn.push({ x, width: NARROWEST });
  }
  return drawn;
}

/** Occurrences that are so many times as far apart as the plan has them at least stand for all between them. */
const OFTEN = 1.5;
/** Occurrences of the plan that are drawn at most, and of one task. */
const MOST = 800;
const MOST_OF_TASK = 60;

/**
 * How far apart, in seconds, the occurrences of one of so many tasks are asked for, so that the plan of `span` seconds
 * fits.
 */
export function apartFor(tasks: number, span: number): number {
  return span / Math.min(MOST_OF_TASK, Math.max(1, Math.floor(MOST / Math.max(1, tasks))));
}
