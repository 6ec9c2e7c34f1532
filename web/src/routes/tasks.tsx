import { useEffect, useState } from "preact/hooks";
import { EditTask, NewTask } from "../components/edit-task";
import { Command, Empty, ErrorBox, Skeleton } from "../components/feedback";
import { ClearFilters, FilterBar, SelectFilter, TextFilter } from "../components/filters";
import { Icon } from "../components/icon";
import { Pager } from "../components/pager";
import { PauseDialog } from "../components/pause-dialog";
import { PageHead } from "../components/section";
import { TaskTable } from "../components/task-table";
import { useSelection } from "../components/use-selection";
import { TaskRowFragment, type LiveEvent, type TaskRow } from "../graphql/fragments";
import { StripFragment } from "../graphql/strip";
import { graphql } from "../graphql/tada";
import { capped, plural } from "../lib/format";
import { useLive } from "../live/use-live";
import { replace, without } from "../model/rows";
import { type Strips, stripsOf } from "../model/strips";
import { pauseTasks, resumeTasks, runTask } from "../services/tasks";
import { searchParams, setParams } from "../state/route";
import { setTitle } from "../state/title";

/** With their strips of sixty occurrences, more would exceed what the server lets one question cost. */
const PAGE = 30;
const FILTERS = ["q", "state", "group", "owner"] as const;

const TasksDocument = graphql(
  `
  query TasksPage($first: Int!, $after: String, $filter: TaskFilter, $orderBy: [TaskOrder!]) {
    asOf
    serverTime
    tasks(first: $first, after: $after, filter: $filter, orderBy: $orderBy) {
      nodes { ...TaskRow }
      pageInfo { hasNextPage endCursor }
      totalCount
    }
  }
`,
  [TaskRowFragment],
);

const StripsDocument = graphql(
  `
  query TaskStrips($first: Int!, $after: String, $filter: TaskFilter, $orderBy: [TaskOrder!]) {
    tasks(first: $first, after: $after, filter: $filter, orderBy: $orderBy) {
      nodes {
        id
        occurrences(first: 60) { nodes { ...StripOccurrence } }
      }
    }
  }
`,
  [StripFragment],
);

const ORDERS = {
  name: { field: "NAME", direction: "ASC" },
  next: { field: "NEXT_EXECUTION", direction: "ASC" },
  started: { field: "LAST_STARTED_AT", direction: "DESC" },
  created: { field: "CREATED_AT", direction: "DESC" },
  group: { field: "GROUP", direction: "ASC" },
} as const;
type Sort = keyof typeof ORDERS;

function readSort(params: URLSearchParams): Sort {
  const sort = params.get("sort") ?? "";
  return sort in ORDERS ? (sort as Sort) : "name";
}

interface State {
  readonly tasks: readonly TaskRow[];
  readonly end: string | null;
  readonly more: boolean;
  readonly total: number;
}

function taskFilter(params: URLSearchParams): Record<string, unknown> | null {
  const q = params.get("q") ?? "";
  const [state, group, owner] = [params.get("state"), params.get("group"), params.get("owner")];
  const filter = {
    ...(q !== "" && { or: [{ name: { contains: q } }, { jobName: { contains: q } }, { owner: { contains: q } }] }),
    ...(state === "paused" && { pausedAt: { isNull: false } }),
    ...(state === "on" && { pausedAt: { isNull: true } }),
    ...(group !== null && { group: { eq: group } }),
    ...(owner !== null && { owner: { eq: owner } }),
  };
  return Object.keys(filter).length === 0 ? null : filter;
}

function reduceTasks(state: State, event: LiveEvent): State {
  if (event.kind === "TASK_DELETED") {
    const tasks = without(state.tasks, event.taskId);
    return tasks === state.tasks ? state : { ...state, tasks };
  }
  if (event.task === null) return state;
  const tasks = replace(state.tasks, event.task);
  return tasks === state.tasks ? state : { ...state, tasks };
}

function useTasks(params: URLSearchParams) {
  const orderBy = ORDERS[readSort(params)];
  const variables = { first: PAGE, after: params.get("after"), filter: taskFilter(params), orderBy: [orderBy] };
  const key = ["after", "sort", ...FILTERS].map((name) => params.get(name) ?? "").join("&");
  const list = useLive(`tasks?${key}`, {
    document: TasksDocument,
    variables,
    init: ({ tasks }): State => ({ tasks: tasks.nodes, end: tasks.pageInfo.endCursor, more: tasks.pageInfo.hasNextPage, total: tasks.totalCount }),
    reduce: reduceTasks,
    outdates: (event) => event.kind === "TASK_CREATED" || event.kind === "TASK_DELETED",
  });
  const strips = useLive(`strips?${key}`, {
    document: StripsDocument,
    variables,
    init: ({ tasks }): Strips => stripsOf(tasks.nodes),
    outdates: (event) => event.kind === "EXECUTION_FINISHED" || event.kind === "OCCURRENCE_SKIPPED" || event.kind === "TASK_CREATED",
    every: 4_000,
  });
  return { list, strips };
}

type Asking = { readonly kind: "pause"; readonly names: readonly string[] } | { readonly kind: "edit"; readonly name: string } | null;

export function Tasks() {
  const params = searchParams.value;
  const { list, strips } = useTasks(params);
  const { state, error, loading, reload, patch } = list;
  const selection = useSelection();
  const [asking, setAsking] = useState<Asking>(null);
  useEffect(() => setTitle("Tasks"), []);
  const mark = (names: readonly string[], change: Partial<TaskRow>): void =>
    patch((before) => ({ ...before, tasks: before.tasks.map((task) => (names.includes(task.name) ? { ...task, ...change } : task)) }));
  const resume = (names: readonly string[]): void => {
    mark(names, { pausedAt: null, pauseReason: null });
    void resumeTasks(names).then((done) => done || reload());
  };
  const pause = (names: readonly string[], reason: string): void => {
    setAsking(null);
    mark(names, { pausedAt: new Date().toISOString(), pauseReason: reason });
    void pauseTasks(names, reason).then((done) => done || reload());
  };
  const names = [...selection.selected];
  const filtered = FILTERS.some((name) => params.has(name));
  return (
    <>
      <PageHead title="Tasks">
        <button type="button" class="button primary" onClick={() => setParams({ new: "1" })}>
          <Icon name="plus" /> New task
        </button>
      </PageHead>
      <FilterBar>
        <TextFilter name="q" value={params.get("q") ?? ""} label="Name, job or owner" main />
        <SelectFilter name="state" value={params.get("state") ?? ""} label="State" all="Any state" options={[["on", "on"], ["paused", "paused"]]} />
        <SelectFilter
          name="sort"
          value={params.get("sort") ?? ""}
          label="Order"
          all="by name"
          options={[["next", "by next time"], ["started", "by last start"], ["created", "newest first"], ["group", "by group"]]}
        />
        {filtered && <ClearFilters names={FILTERS} />}
        {state !== null && <span class="dim num filter-count">{capped(state.total)} {state.total === 1 ? "task" : "tasks"}</span>}
      </FilterBar>
      {names.length > 0 && (
        <div class="bulk-bar" role="toolbar" aria-label="Selected tasks">
          <strong class="num">{plural(names.length, "task")} selected</strong>
          <button type="button" class="button small" onClick={() => void Promise.all(names.map((name) => runTask(name)))}>
            <Icon name="play" /> Run now
          </button>
          <button type="button" class="button small" onClick={() => setAsking({ kind: "pause", names })}>
            <Icon name="pause" /> Pause
          </button>
          <button type="button" class="button small" onClick={() => resume(names)}>
            <Icon name="resume" /> Resume
          </button>
          <button type="button" class="link-button" onClick={selection.clear}>
            Clear
          </button>
        </div>
      )}
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {strips.error !== null && error === null && <ErrorBox error={strips.error} retry={strips.reload} />}
      {state === null && error === null && <Skeleton rows={10} />}
      {state !== null && (
        <section class={error !== null || loading ? "panel loading" : "panel"} aria-label="Tasks">
          {state.tasks.length === 0 ? (
            <NoTasks filtered={filtered} />
          ) : (
            <TaskTable
              tasks={state.tasks}
              strips={strips.state ?? new Map()}
              selected={selection.selected}
              toggle={selection.toggle}
              toggleAll={() => selection.toggleAll(state.tasks.map((task) => task.name))}
              actions={{ pause: (chosen) => setAsking({ kind: "pause", names: chosen }), resume, edit: (name) => setAsking({ kind: "edit", name }) }}
            />
          )}
          <Pager after={params.get("after") ?? ""} end={state.end} more={state.more} shown={state.tasks.length} />
        </section>
      )}
      {asking?.kind === "pause" && (
        <PauseDialog
          name={asking.names.length === 1 ? (asking.names[0] ?? "") : plural(asking.names.length, "task")}
          onClose={() => setAsking(null)}
          onPause={(reason) => pause(asking.names, reason)}
        />
      )}
      {asking?.kind === "edit" && <EditTask name={asking.name} onClose={() => setAsking(null)} />}
      {params.has("new") && (
        <NewTask start={params.has("job") ? { jobName: params.get("job") ?? "" } : {}} onClose={() => setParams({ new: null, job: null }, { replace: true })} />
      )}
    </>
  );
}

function NoTasks({ filtered }: { filtered: boolean }) {
  return filtered ? (
    <Empty title="No task matches">
      <ClearFilters names={FILTERS} />
    </Empty>
  ) : (
    <Empty title="No tasks yet">
      <p class="dim">A task runs a job on a schedule. Make one with “New task”, or declare a schedule in the code:</p>
      <Command text={'@job("nightly_report", schedule="0 30 2 * * *")'} />
    </Empty>
  );
}
