/**
 * The filters and orders of the task list: as the address holds them, as the API takes them, as events are judged by
 * them.
 */
import type { TaskRow } from "../../api/fragments";
import { hasLabel, labelInput } from "../../lib/labels";
import { byNumber, byText, thenBy } from "../../model/live-list";

export interface TasksFilter {
  readonly q: string;
  readonly state: "on" | "paused" | "";
  readonly group: string;
  readonly owner: string;
  /** `team:billing`, or a key alone. */
  readonly label: string;
  readonly sort: TaskSort;
}

interface Order {
  readonly field: "NAME" | "NEXT_EXECUTION_AT" | "LAST_STARTED_AT" | "CREATED_AT" | "GROUP";
  readonly direction: "ASC" | "DESC";
  /** The same order in the page; null where the rows do not show what decides it. */
  compare(left: TaskRow, right: TaskRow): number | null;
}

export type TaskSort = "name" | "next" | "started" | "created" | "group";

function byId(left: TaskRow, right: TaskRow): number {
  return byNumber(left.id, right.id);
}

export const TASK_ORDERS: Readonly<Record<TaskSort, Order>> = {
  name: { field: "NAME", direction: "ASC", compare: (left, right) => byText(left.name, right.name) },
  next: {
    field: "NEXT_EXECUTION_AT",
    direction: "ASC",
    compare: (left, right) => thenBy(byText(left.nextExecutionAt, right.nextExecutionAt), byId(left, right)),
  },
  started: { field: "LAST_STARTED_AT", direction: "DESC", compare: () => null },
  created: { field: "CREATED_AT", direction: "DESC", compare: () => null },
  group: {
    field: "GROUP",
    direction: "ASC",
    compare: (left, right) => thenBy(byText(left.group, right.group), byId(left, right)),
  },
};

export function readTasksFilter(params: Pick<URLSearchParams, "get">): TasksFilter {
  const [state, sort] = [params.get("state"), params.get("sort") ?? ""];
  return {
    q: params.get("q") ?? "",
    state: state === "on" || state === "paused" ? state : "",
    group: params.get("group") ?? "",
    owner: params.get("owner") ?? "",
    label: params.get("label") ?? "",
    sort: sort in TASK_ORDERS ? (sort as TaskSort) : "name",
  };
}

/** The `TaskFilter` of the API; null without any filter. */
export function tasksFilterInput({ q, state, group, owner, label }: TasksFilter): Record<string, unknown> | null {
  const labels = labelInput(label);
  const filter = {
    ...(q !== "" && { or: [{ name: { contains: q } }, { jobName: { contains: q } }, { owner: { contains: q } }] }),
    ...(state !== "" && { pausedAt: { isNull: state === "on" } }),
    ...(group !== "" && { group: { eq: group } }),
    ...(owner !== "" && { owner: { eq: owner } }),
    ...(labels && { labels }),
  };
  return Object.keys(filter).length === 0 ? null : filter;
}

/** Whether a task belongs to the filtered list. */
export function matchesTasksFilter({ q, state, group, owner, label }: TasksFilter, task: TaskRow): boolean {
  const includes = (text: string | null): boolean => text?.toLowerCase().includes(q.toLowerCase()) ?? false;
  return (
    (q === "" || includes(task.name) || includes(task.jobName) || includes(task.owner)) &&
    (state === "" || (task.pausedAt === null) === (state === "on")) &&
    (group === "" || task.group === group) &&
    (owner === "" || task.owner === owner) &&
    hasLabel(task.labels, label)
  );
}
