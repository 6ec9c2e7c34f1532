/** What needs a person, and the answer to "is anything wrong?" in one sentence. Pure. */
import { capped, percent, plural } from "../lib/format";
import { wholeDuration } from "../lib/time";
import { isFailure } from "./log-filter";

/** How long a task has failed by now. */
export interface Streak {
  /** How many of its newest runs in a row. */
  readonly failures: number;
  /** When the first of them began; null where none is known. */
  readonly since: string | null;
  /** No success is among the attempts looked at: it may have begun earlier. */
  readonly longer: boolean;
}

/** An attempt of a run of the task. */
interface Attempt {
  readonly id: string;
  readonly outcome: string | null;
  readonly startedAt: string;
  readonly run: { readonly id: string } | null;
}

/**
 * The failures since the last success, of attempts that come newest first; what goes on, was cancelled or put off
 * counts neither way.
 */
export function streakOf(attempts: readonly Attempt[]): Streak {
  const success = attempts.findIndex(({ outcome }) => outcome === "SUCCESS");
  const failed = (success < 0 ? attempts : attempts.slice(0, success)).filter(
    ({ outcome }) => outcome !== null && isFailure(outcome),
  );
  // A run that was tried several times has failed once.
  const runs = new Set(failed.map(({ id, run }) => (run === null ? `attempt ${id}` : run.id)));
  return { failures: runs.size, since: failed.at(-1)?.startedAt ?? null, longer: success < 0 };
}

/** An attempt with where it ran and when it was over. */
interface PlacedAttempt extends Attempt {
  readonly completedAt: string | null;
  readonly node: string;
}

/** What is different since the last success: a hint at why it fails now. */
export interface Changes {
  /** The task was edited, or paused and resumed, after the last success and before the first failure. */
  readonly edited: boolean;
  /** The node of the last success, if no failure was on it: it was restarted or is another machine. */
  readonly goodNode: string | null;
}

/**
 * What changed between the last success and the failures, of attempts that come newest first. A job that saves its
 * checkpoint touches its task only while it runs.
 */
export function changesOf(attempts: readonly PlacedAttempt[], updatedAt: string): Changes {
  const success = attempts.findIndex(({ outcome }) => outcome === "SUCCESS");
  const good = attempts[success];
  const failed = attempts
    .slice(0, Math.max(0, success))
    .filter(({ outcome }) => outcome !== null && isFailure(outcome));
  const first = failed.at(-1);
  if (good === undefined || first === undefined) return { edited: false, goodNode: null };
  const changed = Date.parse(updatedAt);
  return {
    edited:
      good.completedAt !== null && changed > Date.parse(good.completedAt) && changed <= Date.parse(first.startedAt),
    goodNode: failed.some(({ node }) => node === good.node) ? null : good.node,
  };
}

/** A node that was lost matters for an hour: then the people who have to look have looked. */
export const LOST_FOR = 3_600_000;

/** What the server calls the part that stands still of a node without heartbeats. */
export const SILENT = "heartbeat";

interface Node {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly heartbeatAt: string;
}

/**
 * Nodes that make no progress, and those that were lost within the last hour: unless one of the same name is up again,
 * or somebody has seen it and has dismissed it.
 */
export function nodesInTrouble<N extends Node>(
  nodes: readonly N[],
  up: readonly { readonly name: string }[],
  dismissed: readonly string[],
  now: number,
): readonly N[] {
  const back = new Set(up.map(({ name }) => name));
  const isLost = ({ id, name, state, heartbeatAt }: N): boolean =>
    state === "EXPIRED" && now - Date.parse(heartbeatAt) < LOST_FOR && !back.has(name) && !dismissed.includes(id);
  return nodes.filter((node) => node.state === "STALLED" || isLost(node));
}

interface Group {
  readonly waiting: number;
  readonly scheduled: number;
  readonly stuck: number;
}

/** Paused groups in which something waits. */
export function blockedGroups<G extends Group>(paused: readonly G[]): readonly G[] {
  return paused.filter(({ waiting, scheduled, stuck }) => waiting + scheduled + stuck > 0);
}

/** So many failures in a day are worth their share; fewer are named by their errors. */
const MANY_FAILURES = 20;
/** A share of successes below this is said. */
const FEW_SUCCESSES = 0.95;

/**
 * The share of the last day's executions that failed, if it is worth a word; otherwise null. `unknown`: so many of the
 * failures are news.
 */
export function failedShare(successRate: number | null, failed: number, unknown: number): number | null {
  if (successRate === null || unknown < MANY_FAILURES) return null;
  const share = (1 - successRate) * (unknown / failed);
  return share > 1 - FEW_SUCCESSES ? share : null;
}

/** How many of each kind there are; the server counts to 10,000. */
export interface Troubles {
  readonly failing: number;
  /** Errors of the last hour that no task has, and the jobs that have them. */
  readonly errors: number;
  readonly failedJobs: number;
  /** The share of the last day's executions that failed, if it is worth a word. */
  readonly failedShare: number | null;
  readonly late: number;
  readonly blocked: number;
  readonly stalledNodes: number;
  readonly lostNodes: number;
  readonly people: number;
  /** Alarms that fire and that nobody has acknowledged. */
  readonly alarms: number;
}

/** What is known of the queue's pace. */
export interface Pace {
  readonly running: number;
  readonly waiting: number;
  readonly runsPerMinute: number;
  /** How many runs all nodes execute at once. */
  readonly slots: number;
}

/**
 * In how many seconds the queue is empty if all goes on like this; null where nothing can be said. Runs for which there
 * are free slots wait for something else, such as their time.
 */
export function drainsIn({ running, waiting, runsPerMinute, slots }: Pace): number | null {
  if (waiting <= slots - running) return null;
  return waiting === 0 || waiting > 10_000 || runsPerMinute < 1 ? null : (waiting / runsPerMinute) * 60;
}

function queueWords(pace: Pace): string {
  if (pace.waiting === 0)
    return pace.running === 0 ? "the queue is empty" : `${capped(pace.running)} running, the queue is empty`;
  const seconds = drainsIn(pace);
  return seconds === null
    ? `${capped(pace.waiting)} waiting`
    : `the queue drains in about ${wholeDuration(Math.max(1, seconds))}`;
}

function some(count: number, one: string, many: string): readonly string[] {
  return count === 0 ? [] : [`${capped(count)} ${count === 1 ? one : many}`];
}

/** The answer in one line: `2 tasks fail, 1 task is late; the queue drains in about 40 s`. */
export function headline(
  { failing, errors, failedJobs, failedShare, late, blocked, stalledNodes, lostNodes, people, alarms }: Troubles,
  pace: Pace | null,
): string {
  const wrong = [
    ...some(alarms, "alarm fires", "alarms fire"),
    ...some(failing, "task fails", "tasks fail"),
    ...some(errors, "error", "errors").map((words) => `${words} in ${plural(failedJobs, "job")} within the last hour`),
    ...(failedShare === null ? [] : [`${percent(failedShare)} of the executions of 24 h failed`]),
    ...some(late, "task is late", "tasks are late"),
    ...some(blocked, "paused group holds runs back", "paused groups hold runs back"),
    ...some(stalledNodes, "node makes no progress", "nodes make no progress"),
    ...some(lostNodes, "node was lost", "nodes were lost"),
    ...some(people, "run waits for somebody", "runs wait for somebody"),
  ];
  const queue = pace === null ? "" : queueWords(pace);
  if (wrong.length === 0) return queue === "" ? "All is well" : `All is well: ${queue}`;
  return queue === "" ? wrong.join(", ") : `${wrong.join(", ")}; ${queue}`;
}

/** Whether anything is wrong; people who are waited for are work, not a fault. */
export function toneOf({
  failing,
  errors,
  failedShare,
  late,
  blocked,
  stalledNodes,
  lostNodes,
  people,
  alarms,
}: Troubles): "bad" | "warn" | "good" {
  if (failing + stalledNodes + alarms > 0 || failedShare !== null) return "bad";
  return errors + late + blocked + lostNodes + people > 0 ? "warn" : "good";
}
