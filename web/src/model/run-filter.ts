/** The filters of the runs page: as the address bar holds them and as the API takes them. */
import type { RunRow } from "../api/fragments";
import { hasLabel, type LabelFilterInput, labelInput } from "../lib/labels";
import { byNumber, byText, thenBy } from "./live-list";
import { RANGES, type Range, TRIGGERS } from "./log-filter";

type State = RunRow["state"];
type Trigger = RunRow["trigger"];

/** The tabs, in the order of a run's life. `""` is everything that is unfinished. */
export const RUN_TABS = [
  "",
  "RUNNING",
  "WAITING",
  "SCHEDULED",
  "STUCK",
  "SUSPENDED",
  "SUCCESS",
  "FAILED",
  "CANCELLED",
  "SKIPPED",
  "ALL",
] as const;
export type RunTab = (typeof RUN_TABS)[number];
export const UNFINISHED: readonly State[] = ["RUNNING", "SCHEDULED", "STUCK", "SUSPENDED", "WAITING"];

export interface RunsFilter {
  readonly tab: RunTab;
  readonly q: string;
  readonly job: string;
  readonly task: string;
  readonly group: string;
  readonly priority: "HIGH" | "LOW" | "";
  readonly trigger: Trigger | "";
  /** A part of the name. */
  readonly node: string;
  /** A part of the last error. */
  readonly error: string;
  /** `key:value`. */
  readonly label: string;
  /** `path:value`, an argument of the run. */
  readonly arg: string;
  /** The id of its flow. */
  readonly flow: string;
  /** It was submitted within this time. */
  readonly range: Range | "";
}

/** The `RunFilter` of the API. */
export interface RunFilterInput {
  state?: { in: State[] } | { eq: State };
  group?: { eq: string };
  priority?: { eq: "HIGH" | "LOW" };
  trigger?: { eq: Trigger };
  node?: { contains: string };
  error?: { contains: string };
  flowId?: { eq: string };
  submittedAt?: { gte: string };
  args?: { path: string; eq: unknown };
  or?: RunFilterInput[];
  and?: RunFilterInput[];
  jobName?: { contains: string } | { eq: string };
  taskName?: { contains: string } | { eq: string };
  labels?: LabelFilterInput;
}

export function readRunsFilter(params: Pick<URLSearchParams, "get">): RunsFilter {
  const text = (name: string): string => params.get(name) ?? "";
  const oneOf = <T extends string>(name: string, allowed: readonly T[]): T | "" =>
    allowed.find((each) => each === params.get(name)) ?? "";
  return {
    tab: RUN_TABS.find((tab) => tab === params.get("state")?.toUpperCase()) ?? "",
    q: text("q"),
    job: text("job"),
    task: text("task"),
    group: text("group"),
    priority: oneOf("priority", ["HIGH", "LOW"]),
    trigger: oneOf("trigger", TRIGGERS),
    node: text("node"),
    error: text("error"),
    label: text("label"),
    arg: text("arg"),
    flow: /^\d+$/.test(text("flow")) ? text("flow") : "",
    range: oneOf("range", Object.keys(RANGES) as Range[]),
  };
}

/** An argument that may have been given as a number, a truth value, or as a text. */
function argInput(arg: string): RunFilterInput | null {
  const [path = "", ...rest] = arg.split(":");
  const value = rest.join(":");
  if (path === "" || value === "") return null;
  const number = Number(value);
  const other = value === "true" || value === "false" ? value === "true" : Number.isFinite(number) ? number : null;
  const values = other === null ? [value] : [value, other];
  return { or: values.map((eq) => ({ args: { path, eq } })) };
}

/**
 * The filter for the API at the time `now`; the counts of the tabs take the same filter with another tab, so that they
 * agree with the list.
 */
export function runsFilterInput(filter: RunsFilter, now: number): RunFilterInput {
  const { tab, q, job, task, group, priority, trigger, node, error, flow, range } = filter;
  const labels = labelInput(filter.label);
  const arg = argInput(filter.arg);
  return {
    ...(tab !== "ALL" && { state: tab === "" ? { in: [...UNFINISHED] } : { eq: tab } }),
    ...(job && { jobName: { eq: job } }),
    ...(task && { taskName: { eq: task } }),
    ...(group && { group: { eq: group } }),
    ...(priority && { priority: { eq: priority } }),
    ...(trigger && { trigger: { eq: trigger } }),
    ...(node && { node: { contains: node } }),
    ...(error && { error: { contains: error } }),
    ...(flow && { flowId: { eq: flow } }),
    ...(range && { submittedAt: { gte: new Date(now - RANGES[range] * 3_600_000).toISOString() } }),
    ...(labels && { labels }),
    ...(arg && { and: [arg] }),
    ...(q && { or: [{ jobName: { contains: q } }, { taskName: { contains: q } }] }),
  };
}

function includes(text: string | null, part: string): boolean {
  return part === "" || (text?.toLowerCase().includes(part.toLowerCase()) ?? false);
}

/** Whether a run that an event brought belongs to the filtered list; null where only the server knows. */
export function matchesRunsFilter(filter: RunsFilter, run: RunRow): boolean | null {
  const { tab, q, job, task, group, priority, trigger, node, error, label, arg, flow } = filter;
  const matches =
    (tab === "ALL" || (tab === "" ? UNFINISHED.includes(run.state) : run.state === tab)) &&
    (job === "" || run.jobName === job) &&
    (task === "" || run.taskName === task) &&
    (group === "" || run.group === group) &&
    (priority === "" || run.priority === priority) &&
    (trigger === "" || run.trigger === trigger) &&
    includes(run.node, node) &&
    includes(run.error, error) &&
    hasLabel(run.labels, label) &&
    (includes(run.jobName, q) || includes(run.taskName, q));
  return matches && (arg !== "" || flow !== "") ? null : matches;
}

/** Whether what is kept of the queue over time answers all that this filter asks: job, group and state. */
export function seriesKnow({ tab: _, job: __, group: ___, ...others }: RunsFilter): boolean {
  return Object.values(others).every((value) => value === "");
}

/** Whether the tab shows runs that are over: the newest come first then; else those that are available first. */
export function isFinishedTab(tab: RunTab): boolean {
  return tab === "ALL" || (tab !== "" && !UNFINISHED.includes(tab));
}

export function compareRuns(tab: RunTab): (left: RunRow, right: RunRow) => number {
  if (isFinishedTab(tab)) return (left, right) => byNumber(right.id, left.id);
  return (left, right) => thenBy(byText(left.availableAt, right.availableAt), byNumber(left.id, right.id));
}

/** What can be done with the runs of a tab; of all runs the server takes those to which it can be done. */
export function tabActions(tab: RunTab): ReturnType<typeof runActions> {
  if (tab === "ALL") return { ...runActions("WAITING"), retry: true };
  return runActions(tab === "" ? "WAITING" : tab);
}

/** What can be done with a run in this state. */
export function runActions(state: State): {
  readonly cancel: boolean;
  readonly retry: boolean;
  readonly retryNow: boolean;
  readonly priority: boolean;
  readonly edit: boolean;
} {
  const waits = state === "WAITING" || state === "STUCK";
  return {
    cancel: UNFINISHED.includes(state),
    retry: state === "SUCCESS" || state === "FAILED" || state === "CANCELLED" || state === "SKIPPED",
    retryNow: state === "STUCK",
    priority: waits,
    edit: waits,
  };
}
