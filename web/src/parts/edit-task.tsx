import { useEffect, useMemo, useReducer, useState } from "preact/hooks";
import { request } from "../api/client";
import { EditableTaskFragment } from "../api/editable";
import type { UserError } from "../api/mutate";
import { type FragmentOf, graphql } from "../api/tada";
import { feed } from "../live";
import { formOfTask, type TaskForm } from "../model/task-form";
import { useJobs } from "../services/jobs";
import { createTask, updateTask } from "../services/tasks";
import { notify } from "../state/announce";
import { zone } from "../state/prefs";
import { TaskFormDialog } from "./task-form";

const EditDocument = graphql(
  `
  query EditTask($name: String!) {
    task(name: $name) { ...EditableTask }
  }
`,
  [EditableTaskFragment],
);

type Editable = FragmentOf<typeof EditableTaskFragment>;

/**
 * The task as the server has it now; null until it is known. Where there is none, that is said and the dialog closed.
 * With `follow` it is read again as soon as somebody has changed it, and whenever `again` is called.
 */
function useStored(name: string, onClose: () => void, follow = false) {
  const [task, setTask] = useState<Editable | null>(null);
  const [asked, ask] = useReducer((count: number) => count + 1, 0);
  const again = (): void => ask(undefined);
  useEffect(() => {
    const controller = new AbortController();
    request(EditDocument, { name }, controller.signal).then(
      (data) => {
        if (data.task !== null) setTask((known) => (known?.version === data.task?.version ? known : data.task));
        else {
          notify(`There is no task '${name}' any more`, { tone: "bad" });
          onClose();
        }
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        notify(error instanceof Error ? error.message : String(error), { tone: "bad" });
        if (asked === 0) onClose();
      },
    );
    return () => controller.abort();
  }, [name, asked]);
  useEffect(
    () =>
      follow
        ? feed.listen({
            event: (event) => event.taskName === name && event.kind.startsWith("TASK_") && again(),
            resync: again,
            connected: again,
          })
        : undefined,
    [name, follow],
  );
  return { task, again };
}

const LOST: UserError = {
  code: "VERSION_CONFLICT",
  message: "Nothing was saved, since somebody else has saved this task meanwhile. Choose above, then save again.",
  path: [],
};

/** Edits a task; where somebody else saves it meanwhile, both versions are shown, and one chooses field by field. */
export function EditTask({ name, onClose }: { name: string; onClose: () => void }) {
  const jobs = useJobs(true);
  const { task, again } = useStored(name, onClose, true);
  const stored = useMemo(() => (task === null ? null : formOfTask(task, zone.value)), [task, zone.value]);
  if (task === null) return null;
  return (
    <TaskFormDialog
      title={`Edit ${name}`}
      stored={stored}
      jobs={jobs}
      onClose={onClose}
      onSave={async (input) => {
        const errors = await updateTask(input, task.version);
        if (errors.length === 0) onClose();
        if (!errors.some(({ code }) => code === LOST.code)) return errors;
        again();
        return [LOST];
      }}
    />
  );
}

/** Makes a new task that begins with all that another one has, but for its name. */
export function DuplicateTask({ name, onClose }: { name: string; onClose: () => void }) {
  const { task } = useStored(name, onClose);
  if (task === null) return null;
  return (
    <NewTask
      title={`Duplicate ${name}`}
      draft={`copy of ${name}`}
      start={{ ...formOfTask(task, zone.value), name: "" }}
      onClose={onClose}
    />
  );
}

interface NewTaskProps {
  title?: string;
  /** Under which name what is typed is kept. */
  draft?: string;
  /** What is known already. */
  start?: Partial<TaskForm>;
  onClose: () => void;
}

/** Makes a new task; `start` fills in what is known already. */
export function NewTask({ title = "New task", draft = "new task", start, onClose }: NewTaskProps) {
  const jobs = useJobs(true);
  return (
    <TaskFormDialog
      title={title}
      draftName={draft}
      stored={null}
      jobs={jobs}
      {...(start === undefined ? {} : { start })}
      onClose={onClose}
      onSave={async (input) => {
        const errors = await createTask(input);
        if (errors.length === 0) onClose();
        return errors;
      }}
    />
  );
}
