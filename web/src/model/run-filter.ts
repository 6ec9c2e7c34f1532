/** The filters of the runs page: as the address bar holds them and as the API takes them. */
import type { RunRow } from "../api/fragments";
import { hasLabel, type LabelFilterInput, labelInput } from "../lib/labels";
import { byNumber, byText, thenBy } from "./live-list";

type State = RunRow["state"];

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
] as const;
export type RunTab = (typeof RUN_TABS)[number];
export const UNFINISHED: readonly State[] = ["RUNNING", "SCHEDULED", "STUCK", "SUSPENDED", "WAITING"];

export interface RunsFilter {
  readonly tab: RunTab;
  readonly q: string;
  readonly job: string;
  readonly group: string;
  readonly priority: "HIGH" | "LOW" | "";
  /** `key:value`. */
  readonly label: string;
}

/** The `RunFilter` of the API. */
export interface RunFilterInput {
  state?: { in: State[] } | { eq: State };
  group?: { eq: string };
  priority?: { eq: "HIGH" | "LOW" };
  or?: RunFilterInput[];
  jobName?: { contains: string } | { eq: string };
  taskName?: { contains: string };
  labels?: LabelFilterInput;
}

export function readRunsFilter(params: Pick<URLSearchParams, "get">): RunsFilter {
  const priority = params.get("priority");
  return {
    tab: RUN_TABS.find((tab) => tab === params.get("state")?.toUpperCase()) ?? "",
    q: params.get("q") ?? "",
    job: params.get("job") ?? "",
    group: params.get("group") ?? "",
    priority: priority === "HIGH" || priority === "LOW" ? priority : "",
    label: params.get("label") ?? "",
  };
}

/**
 * The filter for the API; the counts of the tabs take the same filter with another tab, so that they agree with the
 * list.
 */
export function runsFilterInput({ tab, q, job, group, priority, label }: RunsFilter): RunFilterInput {
  const labels = labelInput(label);
  return {
    state: tab === "" ? { in: [...UNFINISHED] } : { eq: tab },
    ...(job && { jobName: { eq: job } }),
    ...(group && { group: { eq: group } }),
    ...(priority && { priority: { eq: priority } }),
    ...(labels && { labels }),
    ...(q && { or: [{ jobName: { contains: q } }, { taskName: { contains: q } }] }),
  };
}

/** Whether a run that an event brought belongs to the filtered list. */
export function matchesRunsFilter({ tab, q, job, group, priority, label }: RunsFilter, run: RunRow): boolean {
  const includes = (text: string | null): boolean => text?.toLowerCase().includes(q.toLowerCase()) ?? false;
  return (
    (tab === "" ? UNFINISHED.includes(run.state) : run.state === tab) &&
    (job === "" || run.jobName === job) &&
    (group === "" || run.group === group) &&
    (priority === "" || run.priority === priority) &&
    hasLabel(run.labels, label) &&
    (q === "" || includes(run.jobName) || includes(run.taskName))
  );
}

/** Whether what is kept of the queue over time answers all that this filter asks: job, group and state. */
export function seriesKnow({ q, priority, label }: RunsFilter): boolean {
  return q === "" && priority === "" && label === "";
}

/** Whether the tab shows runs that are over: the newest come first then; else those that are available first. */
export function isFinishedTab(tab: RunTab): boolean {
  return tab !== "" && !UNFINISHED.includes(tab);
}

export function compareRuns(tab: RunTab): (left: RunRow, right: RunRow) => number {
  if (isFinishedTab(tab)) return (left, right) => byNumber(right.id, left.id);
  return (left, right) => thenBy(byText(left.availableAt, right.availableAt), byNumber(left.id, right.id));
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
