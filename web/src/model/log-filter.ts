/**
 * The filters of the execution log: as the address bar holds them, as the API takes them, as events are judged by them.
 */

import type { ExecutionRow } from "../api/fragments";
import { hasLabel, type LabelFilterInput, labelInput } from "../lib/labels";
import { secondsOf } from "../lib/time";

type Outcome = NonNullable<ExecutionRow["outcome"]>;
type Trigger = ExecutionRow["trigger"];

export const OUTCOMES: readonly Outcome[] = [
  "SUCCESS",
  "FAILED",
  "TIMED_OUT",
  "LOST",
  "CANCELLED",
  "SNOOZED",
  "HANDED_BACK",
];
export const FAILURES: readonly Outcome[] = ["FAILED", "TIMED_OUT", "LOST"];
export const TRIGGERS: readonly Trigger[] = ["SCHEDULE", "MANUAL", "API", "RETRY", "HOOK"];

/** Hours back from now, by the word in the address bar. */
export const RANGES = { "1h": 1, "6h": 6, "24h": 24, "7d": 168, "30d": 720 } as const;
export type Range = keyof typeof RANGES;

/** A range in words: `24 h`. */
export function rangeWords(range: string): string {
  return range.replace(/(?=[hd]$)/, " ");
}

export interface LogFilter {
  readonly job: string;
  readonly task: string;
  /** `failures` = any outcome that counts as one, `running` = not ended yet. */
  readonly outcome: Outcome | "failures" | "running" | "";
  readonly trigger: Trigger | "";
  readonly group: string;
  readonly owner: string;
  readonly node: string;
  readonly run: string;
  /** In the names of job and task, and in the error. */
  readonly text: string;
  /** `key:value`, a label of the run. */
  readonly label: string;
  readonly range: Range | "";
  /** Seconds that it took at least, as a text such as `5s`; and at most. */
  readonly over: string;
  readonly under: string;
}

function oneOf<T extends string>(value: string | null, allowed: readonly T[]): T | "" {
  return allowed.find((candidate) => candidate === value) ?? "";
}

function duration(text: string | null): string {
  return secondsOf(text ?? "") === null ? "" : (text ?? "");
}

/** Reads the filter of an address; what makes no sense is left out. */
export function readLogFilter(params: Pick<URLSearchParams, "get">): LogFilter {
  return {
    job: params.get("job") ?? "",
    task: params.get("task") ?? "",
    group: params.get("group") ?? "",
    owner: params.get("owner") ?? "",
    outcome: oneOf(params.get("outcome"), [...OUTCOMES, "failures", "running"]),
    trigger: oneOf(params.get("trigger"), TRIGGERS),
    node: params.get("node") ?? "",
    run: /^\d+$/.test(params.get("run") ?? "") ? (params.get("run") ?? "") : "",
    text: params.get("q") ?? "",
    label: params.get("label") ?? "",
    range: oneOf(params.get("range"), Object.keys(RANGES) as Range[]),
    over: duration(params.get("over")),
    under: duration(params.get("under")),
  };
}

/** The `ExecutionFilter` of the API. */
export interface ExecutionFilterInput {
  jobName?: { contains: string };
  taskName?: { eq: string } | { contains: string };
  group?: { eq: string };
  owner?: { eq: string };
  outcome?: { eq: Outcome } | { in: Outcome[] } | { isNull: true };
  trigger?: { eq: Trigger };
  node?: { contains: string };
  runId?: { eq: string };
  errorMessage?: { contains: string };
  startedAt?: { gte: string };
  duration?: { gt?: number; lt?: number };
  or?: ExecutionFilterInput[];
  labels?: LabelFilterInput;
}

function outcomeInput(outcome: LogFilter["outcome"]): ExecutionFilterInput["outcome"] | undefined {
  if (outcome === "") return undefined;
  if (outcome === "running") return { isNull: true };
  return outcome === "failures" ? { in: [...FAILURES] } : { eq: outcome };
}

/** The filter for the API at the time `now`; null when nothing is filtered. */
export function logFilterInput(filter: LogFilter, now: number): ExecutionFilterInput | null {
  const outcome = outcomeInput(filter.outcome);
  const labels = labelInput(filter.label);
  const [over, under] = [secondsOf(filter.over), secondsOf(filter.under)];
  const input: ExecutionFilterInput = {
    ...(filter.job && { jobName: { contains: filter.job } }),
    ...(filter.task && { taskName: { eq: filter.task } }),
    ...(filter.group && { group: { eq: filter.group } }),
    ...(filter.owner && { owner: { eq: filter.owner } }),
    ...(outcome && { outcome }),
    ...(filter.trigger && { trigger: { eq: filter.trigger } }),
    ...(filter.node && { node: { contains: filter.node } }),
    ...(filter.run && { runId: { eq: filter.run } }),
    ...(labels && { labels }),
    ...(filter.text && {
      or: [
        { jobName: { contains: filter.text } },
        { taskName: { contains: filter.text } },
        { errorMessage: { contains: filter.text } },
      ],
    }),
    ...((over !== null || under !== null) && {
      duration: { ...(over !== null && { gt: over }), ...(under !== null && { lt: under }) },
    }),
    ...(filter.range && { startedAt: { gte: new Date(now - RANGES[filter.range] * 3_600_000).toISOString() } }),
  };
  return Object.keys(input).length === 0 ? null : input;
}

function includes(text: string | null, part: string): boolean {
  return part === "" || (text ?? "").toLowerCase().includes(part.toLowerCase());
}

function lasted(seconds: number | null, { over, under }: LogFilter): boolean {
  const [least, most] = [secondsOf(over), secondsOf(under)];
  return (
    (least === null && most === null) || (seconds !== null && seconds > (least ?? -1) && seconds < (most ?? Infinity))
  );
}

function outcomeMatches(outcome: Outcome | null, wanted: LogFilter["outcome"]): boolean {
  if (wanted === "") return true;
  if (wanted === "running") return outcome === null;
  if (outcome === null) return false;
  return wanted === "failures" ? FAILURES.includes(outcome) : outcome === wanted;
}

/** Whether the list is filtered by what an execution does not say itself, but its run or its task. */
export function isOfGroupOrOwner({ group, owner }: LogFilter): boolean {
  return group !== "" || owner !== "";
}

/** Whether an execution that an event brought belongs to the filtered list; null where only the server knows. */
export function matchesLogFilter(filter: LogFilter, execution: ExecutionRow): boolean | null {
  const matches =
    includes(execution.jobName, filter.job) &&
    (filter.task === "" || execution.taskName === filter.task) &&
    outcomeMatches(execution.outcome, filter.outcome) &&
    (filter.trigger === "" || execution.trigger === filter.trigger) &&
    includes(execution.node, filter.node) &&
    (filter.run === "" || execution.run?.id === filter.run) &&
    [execution.jobName, execution.taskName, execution.errorMessage].some((text) => includes(text, filter.text)) &&
    lasted(execution.duration, filter) &&
    (execution.labels === undefined || hasLabel(execution.labels, filter.label));
  return matches && (isOfGroupOrOwner(filter) || (filter.label !== "" && execution.labels === undefined))
    ? null
    : matches;
}

/** Whether an outcome counts as a failure. */
export function isFailure(outcome: string): boolean {
  return FAILURES.some((failure) => failure === outcome);
}

/** Whether the server's statistics know all that this filter asks: the task and the time. */
export function countedByServer({ task: _, range: __, ...others }: LogFilter): boolean {
  return Object.values(others).every((value) => value === "");
}

/** Whether anything is filtered: an empty list then means "none match". */
export function isFiltered(filter: LogFilter): boolean {
  return Object.values(filter).some((value) => value !== "");
}
