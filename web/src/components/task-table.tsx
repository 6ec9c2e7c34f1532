import { useState } from "preact/hooks";
import type { TaskRow } from "../graphql/fragments";
import type { StripRow } from "../graphql/strip";
import { paths } from "../lib/paths";
import { executionStatus, taskStatus } from "../lib/status";
import { durations, quantile } from "../lib/strip";
import { runTask } from "../services/tasks";
import { Icon } from "./icon";
import { Name } from "./name";
import { Duration } from "./progress";
import { Status } from "./status";
import { Strip } from "./strip";
import { Time } from "./time";
import { useSteady } from "./use-steady";

export interface TaskTableActions {
  pause: (names: readonly string[]) => void;
  resume: (names: readonly string[]) => void;
  edit: (name: string) => void;
}

interface TaskTableProps {
  tasks: readonly TaskRow[];
  strips: ReadonlyMap<string, readonly StripRow[]>;
  selected: ReadonlySet<string>;
  toggle: (name: string) => void;
  toggleAll: () => void;
  actions: TaskTableActions;
}

/** The tasks with their schedules and how their last occurrences went. */
export function TaskTable({ tasks, strips, selected, toggle, toggleAll, actions }: TaskTableProps) {
  const { rows, bind } = useSteady(tasks);
  return (
    <div class="table-wrap" {...bind}>
      <table class="table tasks">
        <thead>
          <tr>
            <th class="col-check">
              <input type="checkbox" aria-label="Select all tasks shown" checked={rows.length > 0 && selected.size >= rows.length} onChange={toggleAll} />
            </th>
            <th class="col-task">Task</th>
            <th class="col-schedule">Schedule</th>
            <th class="col-strip">Last 60 occurrences</th>
            <th class="col-last">Last</th>
            <th class="col-next">Next</th>
            <th class="col-num">p50 / p95</th>
            <th class="col-state">State</th>
            <th class="col-actions">
              <span class="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((task) => (
            <TaskLine key={task.id} task={task} strip={strips.get(task.id) ?? []} selected={selected.has(task.name)} toggle={toggle} actions={actions} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface TaskLineProps {
  task: TaskRow;
  strip: readonly StripRow[];
  selected: boolean;
  toggle: (name: string) => void;
  actions: TaskTableActions;
}

function TaskLine({ task, strip, selected, toggle, actions }: TaskLineProps) {
  const spent = durations(strip);
  return (
    <tr data-row tabIndex={-1} class={selected ? "selected" : ""}>
      <td class="cell-check">
        <input type="checkbox" data-key="x" aria-label={`Select ${task.name}`} checked={selected} onChange={() => toggle(task.name)} />
      </td>
      <td class="cell-name">
        <a class="row-main" href={paths.task(task.name)} data-key="Enter">
          <Name text={task.name} />
        </a>
        <span class="dim cell-sub">
          {task.jobName !== task.name && `${task.jobName} · `}
          {task.group}
          {task.owner !== null && ` · ${task.owner}`}
        </span>
      </td>
      <td data-label="Schedule" class="cell-schedule">
        <span>{task.schedule.humanized}</span>
        <span class="dim cell-sub">
          <code>{task.schedule.value}</code> <span class="zone-tag">{task.schedule.timezone}</span>
        </span>
      </td>
      <td class="cell-strip">
        <Strip occurrences={strip} label={task.name} />
      </td>
      <td data-label="Last">
        {task.lastStatus === null ? (
          <span class="dim">never</span>
        ) : (
          <a class="plain" href={paths.execution(task.lastStatus.id)}>
            <Status name={executionStatus(task.lastStatus)} />
          </a>
        )}
        {task.lastStatus !== null && (
          <span class="dim cell-sub">
            <Time at={task.lastStatus.completedAt ?? task.lastStatus.startedAt} />
          </span>
        )}
      </td>
      <td data-label="Next">{task.nextExecution === null || task.pausedAt !== null ? "–" : <Time at={task.nextExecution} form="countdown" />}</td>
      <td data-label="p50 / p95" class="cell-num">
        <Duration seconds={quantile(spent, 0.5)} />
        <span class="dim cell-sub">
          <Duration seconds={quantile(spent, 0.95)} />
        </span>
      </td>
      <td class="cell-state">
        <Status name={taskStatus(task)} title={task.pauseReason ?? undefined} />
      </td>
      <td class="cell-actions">
        <TaskButtons task={task} actions={actions} />
      </td>
    </tr>
  );
}

function TaskButtons({ task, actions }: { task: TaskRow; actions: TaskTableActions }) {
  const [busy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    await runTask(task.name);
    setBusy(false);
  };
  return (
    <span class="row-actions">
      <button type="button" class="icon-button" data-key="r" title="Run now" aria-label={`Run ${task.name} now`} disabled={busy} onClick={() => void run()}>
        <Icon name="play" />
      </button>
      {task.pausedAt === null ? (
        <button type="button" class="icon-button" title="Pause" aria-label={`Pause ${task.name}`} onClick={() => actions.pause([task.name])}>
          <Icon name="pause" />
        </button>
      ) : (
        <button type="button" class="icon-button" title="Resume" aria-label={`Resume ${task.name}`} onClick={() => actions.resume([task.name])}>
          <Icon name="resume" />
        </button>
      )}
      <button type="button" class="icon-button" title="Edit" aria-label={`Edit ${task.name}`} onClick={() => actions.edit(task.name)}>
        <Icon name="edit" />
      </button>
    </span>
  );
}
