/** The timeline: a row per task, bars by outcome, hollow marks for what is planned. */
import { type ExecutionRow, executionOf, type LiveEvent } from "../graphql/fragments";
import { executionStatus, statusView, type Tone } from "../lib/status";
import { upsertFirst, without } from "./rows";

/** A planned occurrence. */
export interface Planned {
  readonly taskName: string;
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
  /** The newest execution of the bar, to open it. */
  readonly id: string;
}

/** One planned occurrence, or many that follow each other so soon that they are drawn as one. In pixels. */
export interface Ahead {
  readonly x: number;
  readonly width: number;
}

export interface TimelineRow {
  readonly name: string;
  readonly isTask: boolean;
  readonly bars: readonly Bar[];
  readonly planned: readonly Ahead[];
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
const KEEP = 2000;

/** A merged bar grows no wider than this, so that a dense row still shows when its failures were. */
const WIDEST_MERGED = 26;
/** The more urgent of two tones decides the colour of a merged bar; failures have their share of it instead. */
const URGENCY: readonly Tone[] = ["bad", "good", "idle", "active", "warn"];

function urgent(left: Tone, right: Tone): Tone {
  return URGENCY.indexOf(left) >= URGENCY.indexOf(right) ? left : right;
}

function barOf(execution: ExecutionRow, frame: Frame): Bar | null {
  const start = Date.parse(execution.startedAt);
  const end = execution.completedAt === null ? frame.now : Date.parse(execution.completedAt);
  if (end < frame.from || start > frame.to) return null;
  const scale = frame.width / (frame.to - frame.from);
  const x = Math.max(0, (start - frame.from) * scale);
  const right = Math.min(frame.width, (end - frame.from) * scale);
  const tone = statusView(executionStatus(execution)).tone;
  return { x, width: Math.max(NARROWEST, right - x), tone, count: 1, failed: tone === "bad" ? 1 : 0, id: execution.id };
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
      id: Number(bar.id) > Number(last.id) ? bar.id : last.id,
    };
  }
  return merged;
}

/** The rows of the timeline, by name. `apart`: of each task the plan has at most one occurrence in so many milliseconds. */
export function timelineRows(executions: readonly ExecutionRow[], planned: readonly Planned[], frame: Frame, apart = 0): readonly TimelineRow[] {
  const rows = new Map<string, { isTask: boolean; bars: Bar[]; planned: number[] }>();
  const row = (name: string, isTask: boolean) => {
    const known = rows.get(name) ?? { isTask, bars: [], planned: [] };
    known.isTask ||= isTask;
    rows.set(name, known);
    return known;
  };
  for (const execution of executions) {
    const bar = barOf(execution, frame);
    if (bar !== null) row(execution.taskName ?? execution.jobName, execution.taskName !== null).bars.push(bar);
  }
  const scale = frame.width / (frame.to - frame.from);
  for (const { taskName, at } of planned) if (at > frame.now && at <= frame.to) row(taskName, true).planned.push((at - frame.from) * scale);
  return [...rows]
    .map(([name, { isTask, bars, planned: marks }]) => ({
      name,
      isTask,
      bars: mergeBars(bars),
      planned: aheadOf(marks, apart * scale),
      count: bars.length,
      failed: bars.filter((bar) => bar.failed > 0).length,
    }))
    .sort((left, right) => left.name.localeCompare(right.name));
}

/** Marks that lie on top of each other, or between which the plan leaves others out, are drawn as one. */
function aheadOf(marks: readonly number[], apart: number): readonly Ahead[] {
  const drawn: Ahead[] = [];
  for (const mark of [...marks].sort((left, right) => left - right)) {
    const last = drawn.at(-1);
    const x = mark - NARROWEST / 2;
    const follows = last !== undefined && x - (last.x + last.width) < Math.max(0, apart * OFTEN - NARROWEST);
    if (last !== undefined && (follows || x < last.x + last.width)) drawn[drawn.length - 1] = { x: last.x, width: x + NARROWEST - last.x };
    else drawn.push({ x, width: NARROWEST });
  }
  return drawn;
}

/** Occurrences that are so many times as far apart as the plan has them at least stand for all between them. */
const OFTEN = 1.5;
/** Occurrences of the plan that are drawn at most, and of one task. */
const MOST = 800;
const MOST_OF_TASK = 60;

/** How far apart, in seconds, the occurrences of one of so many tasks are asked for, so that the plan of `span` seconds fits. */
export function apartFor(tasks: number, span: number): number {
  return span / Math.min(MOST_OF_TASK, Math.max(1, Math.floor(MOST / Math.max(1, tasks))));
}

/** Executions of the timeline after an event, newest first and bounded. */
export function reduceTimeline(executions: readonly ExecutionRow[], event: LiveEvent): readonly ExecutionRow[] {
  if (event.executionId === null || event.execution === undefined) return executions;
  const execution = executionOf(event);
  return execution === null ? without(executions, event.executionId) : upsertFirst(executions, execution, KEEP);
}

/** Round times between two instants for the axis, at most about eight. */
export function axisTicks(from: number, to: number): readonly number[] {
  const minutes = [5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880];
  const step = (minutes.find((candidate) => (to - from) / (candidate * 60_000) <= 9) ?? 10_080) * 60_000;
  const ticks: number[] = [];
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) ticks.push(tick);
  return ticks;
}
