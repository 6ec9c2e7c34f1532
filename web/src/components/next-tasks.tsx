import { useState } from "preact/hooks";
import type { TaskRow } from "../graphql/fragments";
import { paths } from "../lib/paths";
import { taskStatus } from "../lib/status";
import { byNextExecution } from "../model/overview";
import { pauseTasks, resumeTasks, runTask } from "../services/tasks";
import { Command, Empty } from "./feedback";
import { Icon } from "./icon";
import { PauseDialog } from "./pause-dialog";
import { Section } from "./section";
import { Status } from "./status";
import { Time } from "./time";
import { useSteady } from "./use-steady";

interface TaskActions {
  /** Shows a change at once, before the server has answered. */
  patchTask: (name: string, change: Partial<TaskRow>) => void;
  /** Asks the server, after an action was refused. */
  reload: () => void;
}

interface NextTasksProps extends TaskActions {
  tasks: readonly TaskRow[];
}

const SHOWN = 10;

export function NextTasks({ tasks, ...actions }: NextTasksProps) {
  const { rows, bind } = useSteady(byNextExecution(tasks).slice(0, SHOWN));
  const [pausing, setPausing] = useState<string | null>(null);
  return (
    <Section title="Next up" aside={<a href="/tasks">All tasks</a>}>
      {rows.length === 0 ? (
        <Empty title="No tasks yet">
          <p class="dim">
            A task runs a job on a schedule. <a href="/tasks?new=1">Make one here</a>, or declare a schedule in the code:
          </p>
          <Command text={'@job("nightly_report", schedule="0 30 2 * * *")'} />
        </Empty>
      ) : (
        <ul class="next-list" {...bind}>
          {rows.map((task) => (
            <NextTask key={task.id} task={task} {...actions} askPause={() => setPausing(task.name)} />
          ))}
        </ul>
      )}
      {pausing !== null && (
        <PauseDialog
          name={pausing}
          onClose={() => setPausing(null)}
          onPause={(reason) => {
            setPausing(null);
            actions.patchTask(pausing, { pausedAt: new Date().toISOString(), pauseReason: reason });
            void pauseTasks([pausing], reason).then((done) => done || actions.reload());
          }}
        />
      )}
    </Section>
  );
}

interface NextTaskProps extends TaskActions {
  task: TaskRow;
  askPause: () => void;
}

function NextTask({ task, patchTask, reload, askPause }: NextTaskProps) {
  const [busy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    await runTask(task.name);
    setBusy(false);
  };
  const resume = async (): Promise<void> => {
    patchTask(task.name, { pausedAt: null, pauseReason: null });
    if (!(await resumeTasks([task.name]))) reload();
  };
  const status = taskStatus(task);
  return (
    <li class="next-item" data-row tabIndex={-1}>
      <a class="next-name" href={paths.task(task.name)} data-key="Enter">
        {task.name}
      </a>
      <span class="next-when">
        {status === "ENABLED" || status === "STALLED" ? (
          task.nextExecution === null ? "–" : <Time at={task.nextExecution} form="countdown" />
        ) : (
          <Status name={status} title={task.pauseReason ?? undefined} />
        )}
      </span>
      <span class="next-sentence dim">
        {task.schedule.humanized}
        <span class="zone-tag">{task.schedule.timezone}</span>
      </span>
      <span class="row-actions">
        <button type="button" class="icon-button" data-key="r" disabled={busy} title="Run now" aria-label={`Run ${task.name} now`} onClick={() => void run()}>
          <Icon name="play" />
        </button>
        {task.pausedAt === null ? (
          <button type="button" class="icon-button" title="Pause" aria-label={`Pause ${task.name}`} onClick={askPause}>
            <Icon name="pause" />
          </button>
        ) : (
          <button type="button" class="icon-button" title="Resume" aria-label={`Resume ${task.name}`} onClick={() => void resume()}>
            <Icon name="resume" />
          </button>
        )}
      </span>
    </li>
  );
}
