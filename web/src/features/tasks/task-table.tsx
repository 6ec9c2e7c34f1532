import { useState } from "preact/hooks";
import type { TaskRow } from "../../api/fragments";
import { paths } from "../../lib/paths";
import { executionStatus, taskStatus } from "../../lib/status";
import { durations, quantile, type StripOccurrence } from "../../lib/strip";
import { runTask } from "../../services/tasks";
import { Action } from "../../ui/action";
import type { Column } from "../../ui/data-table";
import { Icon } from "../../ui/icon";
import { Name } from "../../ui/name";
import { Duration } from "../../ui/progress";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";
import { Strip } from "./strip";

/** What the cells of the task table need beyond their row. */
export interface TaskContext {
  readonly strips: ReadonlyMap<string, readonly StripOccurrence[]>;
  pause(names: readonly string[]): void;
  resume(names: readonly string[], reason?: string): void;
  edit(name: string): void;
}

type TaskColumn = Column<TaskRow, TaskContext>;

/** The tasks with their schedules and how their last occurrences went. */
export const TASK_COLUMNS: readonly TaskColumn[] = [
  {
    key: "name",
    title: "Task",
    width: 170,
    grow: 3,
    rank: 0,
    card: "title",
    name: ({ name }) => name,
    cell: (task) => <NameOf task={task} />,
  },
  {
    key: "schedule",
    title: "Schedule",
    width: 160,
    grow: 2,
    rank: 3,
    card: "wide",
    bare: true,
    cell: (task) => <Schedule task={task} />,
  },
  {
    key: "strip",
    title: "Last 60 occurrences",
    width: 208,
    rank: 5,
    card: "wide",
    bare: true,
    cell: (task, { strips }) => <Strip occurrences={strips.get(task.id) ?? []} label={task.name} />,
  },
  { key: "last", title: "Last", width: 152, grow: 1, rank: 1, card: "pair", cell: (task) => <Last task={task} /> },
  {
    key: "next",
    title: "Next",
    width: 108,
    rank: 2,
    card: "pair",
    cell: (task) =>
      task.nextExecutionAt === null || task.pausedAt !== null ? (
        "–"
      ) : (
        <Time at={task.nextExecutionAt} form="countdown" />
      ),
  },
  {
    key: "spent",
    title: "p50 / p95",
    width: 92,
    grow: 1,
    rank: 6,
    card: "none",
    number: true,
    cell: (task, { strips }) => <Spent strip={strips.get(task.id) ?? []} />,
  },
  {
    key: "owner",
    title: "Owner",
    width: 120,
    rank: 7,
    card: "none",
    cell: (task) => <span class="dim">{task.owner ?? "–"}</span>,
  },
  {
    key: "state",
    title: "State",
    width: 118,
    rank: 0,
    card: "pair",
    bare: true,
    cell: (task) => <Status name={taskStatus(task)} title={task.pauseReason ?? undefined} />,
  },
  {
    key: "actions",
    title: "Actions",
    untitled: true,
    width: 114,
    rank: 0,
    card: "actions",
    cell: (task, context) => <TaskButtons task={task} context={context} />,
  },
];

export function taskName({ name }: TaskRow): string {
  return name;
}

function NameOf({ task }: { task: TaskRow }) {
  return (
    <>
      <a class="row-main" href={paths.task(task.name)} data-key="Enter">
        <Name text={task.name} />
      </a>{" "}
      <span class="dim cell-sub">
        {task.jobName !== task.name && `${task.jobName} · `}
        {task.group}
      </span>
    </>
  );
}

function Schedule({ task }: { task: TaskRow }) {
  return (
    <>
      <span>{task.schedule.humanized}</span>{" "}
      <span class="dim cell-sub">
        <code>{task.schedule.value}</code> <span class="zone-tag">{task.schedule.timezone}</span>
      </span>
    </>
  );
}

function Last({ task: { lastStatus } }: { task: TaskRow }) {
  if (lastStatus === null) return <span class="dim">never</span>;
  return (
    <>
      <a class="plain" href={paths.execution(lastStatus.id)}>
        <Status name={executionStatus(lastStatus)} />
      </a>{" "}
      <span class="dim cell-sub">
        <Time at={lastStatus.completedAt ?? lastStatus.startedAt} />
      </span>
    </>
  );
}

function Spent({ strip }: { strip: readonly StripOccurrence[] }) {
  const spent = durations(strip);
  return (
    <>
      <Duration seconds={quantile(spent, 0.5)} />{" "}
      <span class="dim cell-sub">
        <Duration seconds={quantile(spent, 0.95)} />
      </span>
    </>
  );
}

function TaskButtons({ task, context }: { task: TaskRow; context: TaskContext }) {
  const [busy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    await runTask(task.name);
    setBusy(false);
  };
  return (
    <span class="row-actions">
      <Action
        class="icon-button"
        data-key="r"
        title="Run now"
        aria-label={`Run ${task.name} now`}
        disabled={busy}
        onClick={() => void run()}
      >
        <Icon name="play" />
      </Action>
      {task.pausedAt === null ? (
        <Action
          class="icon-button"
          title="Pause"
          aria-label={`Pause ${task.name}`}
          onClick={() => context.pause([task.name])}
        >
          <Icon name="pause" />
        </Action>
      ) : (
        <Action
          class="icon-button"
          title="Resume"
          aria-label={`Resume ${task.name}`}
          onClick={() => context.resume([task.name], task.pauseReason ?? "")}
        >
          <Icon name="resume" />
        </Action>
      )}
      <Action class="icon-button" title="Edit" aria-label={`Edit ${task.name}`} onClick={() => context.edit(task.name)}>
        <Icon name="edit" />
      </Action>
    </span>
  );
}
