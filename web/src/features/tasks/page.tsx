import { useEffect, useMemo, useState } from "preact/hooks";
import { TaskRowFragment } from "../../api/fragments";
import { StripFragment } from "../../api/strip";
import { graphql } from "../../api/tada";
import { capped, plural } from "../../lib/format";
import { serverNow } from "../../live/clock";
import { setTitle } from "../../live/title";
import { useLive } from "../../live/use-live";
import { tryRows, useLiveList } from "../../live/use-live-list";
import { EditTask, NewTask, PauseDialog } from "../../parts/dialogs";
import { ClearFilters, SelectFilter } from "../../parts/filters";
import { ListTools } from "../../parts/list-tools";
import { pauseTasks, resumeTasks, runTask } from "../../services/tasks";
import { searchParams, setParams } from "../../state/route";
import { Action } from "../../ui/action";
import { Command, Empty, ErrorBox } from "../../ui/feedback";
import { Icon } from "../../ui/icon";
import { ListPanel } from "../../ui/list-panel";
import { PageHead } from "../../ui/section";
import { SelectedCount } from "../../ui/selected-count";
import { useSelection } from "../../ui/use-selection";
import { SearchBar } from "../search/bar";
import { filtersOf, type Vocabulary } from "../search/model";
import { type Strips, StripsWanted } from "./strips";
import {
  matchesTasksFilter,
  readTasksFilter,
  TASK_ORDERS,
  type TaskSort,
  type TasksFilter,
  tasksFilterInput,
} from "./task-filter";
import { TASK_COLUMNS, taskName } from "./task-table";

/** With their strips of sixty occurrences, more would exceed what the server lets one question cost. */
const PAGE = 30;
/** What its headings order the list by. */
const SORTS = { name: { ascending: "name" }, next: { ascending: "next" }, last: { descending: "started" } } as const;
const SEARCH: Vocabulary = {
  label: "Name, job or owner",
  param: "q",
  terms: [
    {
      prefix: "state:",
      param: "state",
      label: "State",
      options: [
        ["on", "on"],
        ["paused", "paused"],
      ],
    },
    { prefix: "group:", param: "group", label: "Group", names: "group", exact: true },
    { prefix: "owner:", param: "owner", label: "Owner", names: "owner", exact: true },
    { prefix: "label:", param: "label", label: "Label", names: "label", form: "label" },
  ],
};
const FILTERS = filtersOf(SEARCH);

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
    asOf
    tasks(first: $first, after: $after, filter: $filter, orderBy: $orderBy) {
      nodes {
        id
        strip(last: 60) { ...StripColumns }
      }
    }
  }
`,
  [StripFragment],
);

const NO_STRIPS: Strips = new Map();

function useTasks(filter: TasksFilter, after: string | null) {
  const { field, direction, compare } = TASK_ORDERS[filter.sort];
  const variables = () => ({ first: PAGE, after, filter: tasksFilterInput(filter), orderBy: [{ field, direction }] });
  const key = JSON.stringify([filter, after]);
  const list = useLiveList(`tasks${key}`, {
    document: TasksDocument,
    variables,
    page: ({ tasks }) => tasks,
    parts: ["tasks"],
    change: ({ taskId, task }) => (typeof taskId !== "string" || task === undefined ? null : { id: taskId, row: task }),
    id: (task) => task.id,
    matches: (task) => matchesTasksFilter(filter, task),
    order: compare,
    first: after === null,
    size: PAGE,
  });
  const wanted = useMemo(() => new StripsWanted(), [key]);
  const strips = useLive(`strips${key}`, {
    document: StripsDocument,
    variables: () => {
      const ids = wanted.next();
      return ids === null
        ? variables()
        : { ...variables(), first: ids.length, after: null, filter: { id: { in: [...ids] } } };
    },
    init: ({ tasks }, before: Strips | null): Strips => wanted.accept(tasks.nodes, before),
    outdates: (event, shown) => {
      if (event.kind.startsWith("TASK_")) wanted.everything();
      else if (
        typeof event.taskId !== "string" ||
        !shown.has(event.taskId) ||
        !(event.kind === "EXECUTION_FINISHED" || event.kind === "OCCURRENCE_SKIPPED")
      )
        return false;
      else wanted.note(event.taskId);
      return true;
    },
    missed: () => wanted.everything(),
    every: 1_500,
  });
  return { list, strips };
}

type Asking =
  | { readonly kind: "pause"; readonly names: readonly string[] }
  | { readonly kind: "edit"; readonly name: string }
  | null;

export function Tasks() {
  const params = searchParams.value;
  const after = params.get("after");
  const filter = readTasksFilter(params);
  const { list, strips } = useTasks(filter, after);
  const { state } = list;
  const name = `tasks ${JSON.stringify(filter)}`;
  const selection = useSelection(name, after ?? "", state?.rows.map(taskName) ?? null);
  const [asking, setAsking] = useState<Asking>(null);
  useEffect(() => setTitle("Tasks"), []);
  const resume = (names: readonly string[], reason = ""): void => {
    void tryRows(
      list,
      (task) => names.includes(task.name),
      { pausedAt: null, pauseReason: null, resumeAt: null },
      () => resumeTasks(names, reason),
    );
  };
  const pause = (names: readonly string[], reason: string, resumeAt: string | null): void => {
    setAsking(null);
    const change = { pausedAt: new Date(serverNow()).toISOString(), pauseReason: reason, resumeAt };
    void tryRows(
      list,
      (task) => names.includes(task.name),
      change,
      () => pauseTasks(names, reason, resumeAt),
    );
  };
  const context = useMemo(
    () => ({
      strips: strips.state ?? NO_STRIPS,
      pause: (names: readonly string[]) => setAsking({ kind: "pause", names }),
      resume,
      edit: (edited: string) => setAsking({ kind: "edit", name: edited }),
    }),
    [strips.state, name, after],
  );
  const filtered = FILTERS.some((each) => params.has(each));
  const names = [...selection.selected];
  return (
    <>
      <PageHead title="Tasks">
        <a class="button" href="/schedule">
          <Icon name="clock" /> Schedule
        </a>
        <Action class="button primary" onClick={() => setParams({ new: "1" })}>
          <Icon name="plus" /> New task
        </Action>
      </PageHead>
      <SearchBar vocabulary={SEARCH} order={<TaskOrder sort={filter.sort} />}>
        {state?.total != null && (
          <span class="dim num filter-count">
            {capped(state.total)} {state.total === 1 ? "task" : "tasks"}
          </span>
        )}
        <ListTools table="tasks" columns={TASK_COLUMNS} rows={state?.rows ?? null} />
      </SearchBar>
      {names.length > 0 && (
        <div class="bulk-bar" role="toolbar" aria-label="Selected tasks">
          <SelectedCount selection={selection} shown={state?.rows.map(taskName) ?? []} one="task" />
          <Action class="button small" onClick={() => void Promise.all(names.map((each) => runTask(each)))}>
            <Icon name="play" /> Run now
          </Action>
          <Action class="button small" onClick={() => setAsking({ kind: "pause", names })}>
            <Icon name="pause" /> Pause
          </Action>
          <Action class="button small" onClick={() => resume(names)}>
            <Icon name="resume" /> Resume
          </Action>
        </div>
      )}
      {strips.error !== null && list.error === null && <ErrorBox error={strips.error} retry={strips.reload} />}
      <ListPanel
        label="Tasks"
        id="tasks"
        sorting={{ sorts: SORTS, sort: filter.sort, usual: "name" }}
        after={after ?? ""}
        page={`${name} ${after ?? ""}`}
        list={list}
        columns={TASK_COLUMNS}
        context={context}
        rowId={taskName}
        selection={selection}
        narrowing={{
          order: ORDER_WORDS[filter.sort],
          usual: { param: "sort", words: "Order by name" },
          terms: ["owner:"],
        }}
        empty={<NoTasks filtered={filtered} />}
      />
      {asking?.kind === "pause" && (
        <PauseDialog
          name={asking.names.length === 1 ? (asking.names[0] ?? "") : plural(asking.names.length, "task")}
          onClose={() => setAsking(null)}
          onPause={(reason, resumeAt) => pause(asking.names, reason, resumeAt)}
        />
      )}
      {asking?.kind === "edit" && <EditTask name={asking.name} onClose={() => setAsking(null)} />}
      {params.has("new") && (
        <NewTask
          start={params.has("job") ? { jobName: params.get("job") ?? "" } : {}}
          onClose={() => setParams({ new: null, job: null }, { replace: true })}
        />
      )}
    </>
  );
}

/** Orders as one speaks of them. */
const ORDER_WORDS: Readonly<Record<TaskSort, string>> = {
  name: "by name",
  next: "by next time",
  started: "by last start",
  created: "by age",
  group: "by group",
};

function TaskOrder({ sort }: { sort: TaskSort }) {
  const options = [
    ["next", "by next time"],
    ["started", "by last start"],
    ["created", "newest first"],
    ["group", "by group"],
  ] as const;
  return <SelectFilter name="sort" value={sort === "name" ? "" : sort} label="Order" all="by name" options={options} />;
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
