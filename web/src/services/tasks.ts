import { RunRowFragment, TaskRowFragment } from "../api/fragments";
import { complain, mutate, report, type UserError } from "../api/mutate";
import { graphql, type VariablesOf } from "../api/tada";
import { plural } from "../lib/format";
import type { ResourcesInput } from "../lib/resources";
import { notify } from "../state/announce";
import { beginRun } from "../state/pending";

const TriggerTask = graphql(
  `
  mutation TriggerTask($input: TriggerTaskInput!) {
    triggerTask(input: $input) {
      run { ...RunRow }
      errors { code message path }
    }
  }
`,
  [RunRowFragment],
);

const PauseTasks = graphql(
  `
  mutation PauseTasks($input: PauseTasksInput!) {
    pauseTasks(input: $input) {
      tasks { ...TaskRow }
      errors { code message path }
    }
  }
`,
  [TaskRowFragment],
);

const ResumeTasks = graphql(
  `
  mutation ResumeTasks($input: ResumeTasksInput!) {
    resumeTasks(input: $input) {
      tasks { ...TaskRow }
      errors { code message path }
    }
  }
`,
  [TaskRowFragment],
);

const CreateTask = graphql(
  `
  mutation CreateTask($input: CreateTaskInput!) {
    createTask(input: $input) {
      task { ...TaskRow }
      errors { code message path }
    }
  }
`,
  [TaskRowFragment],
);

const UpdateTask = graphql(
  `
  mutation UpdateTask($input: UpdateTaskInput!) {
    updateTask(input: $input) {
      task { ...TaskRow }
      errors { code message path }
    }
  }
`,
  [TaskRowFragment],
);

const ResetTask = graphql(
  `
  mutation ResetTask($input: ResetTaskInput!) {
    resetTask(input: $input) {
      task { ...TaskRow }
      errors { code message path }
    }
  }
`,
  [TaskRowFragment],
);

const DeleteTask = graphql(`
  mutation DeleteTask($input: DeleteTaskInput!) {
    deleteTask(input: $input) {
      deletedName
      cancelledCount
      errors { code message path }
    }
  }
`);

type CreateInput = VariablesOf<typeof CreateTask>["input"];
type UpdateInput = VariablesOf<typeof UpdateTask>["input"];

/** Creates a task from the form; answers the errors, none when it went well. */
export async function createTask(input: Record<string, unknown>): Promise<readonly UserError[]> {
  const outcome = await mutate(CreateTask, { input: input as unknown as CreateInput }, (data) => data.createTask);
  if (!outcome.ok) return outcome.errors;
  notify(`${String(input["name"])} is created`);
  return [];
}

/** Sends the changed fields; refused if somebody else has edited the task since `expectedVersion`. */
export async function updateTask(
  input: Record<string, unknown>,
  expectedVersion: number,
): Promise<readonly UserError[]> {
  const outcome = await mutate(
    UpdateTask,
    { input: { ...input, expectedVersion } as unknown as UpdateInput },
    (data) => data.updateTask,
  );
  if (!outcome.ok) return outcome.errors;
  notify(`${String(input["name"])} is saved`);
  return [];
}

/** Gives a task of code its declared schedule back. */
export async function resetTask(name: string): Promise<boolean> {
  const outcome = await mutate(ResetTask, { input: { name } }, (data) => data.resetTask);
  if (!report(outcome)) return false;
  notify(`${name} follows its code again`);
  return true;
}

/** How many unfinished runs would be cancelled with a task; null if it cannot be deleted. */
export async function countRunsOfDeletion(name: string): Promise<number | null> {
  const outcome = await mutate(DeleteTask, { input: { name, dryRun: true } }, (data) => data.deleteTask);
  return outcome.ok ? outcome.value.cancelledCount : null;
}

export async function deleteTask(name: string): Promise<boolean> {
  const outcome = await mutate(DeleteTask, { input: { name } }, (data) => data.deleteTask);
  if (!report(outcome)) return false;
  notify(`${name} is deleted`);
  return true;
}

/** Makes a run of the task now; its schedule does not move. The run shows as pending at once. */
export async function runTask(name: string): Promise<boolean> {
  const errors = await runTaskWith(name);
  complain(errors);
  return errors.length === 0;
}

/** The same with other arguments and resources than its own; answers what was refused. */
export async function runTaskWith(
  name: string,
  args?: unknown,
  resources: ResourcesInput | null = null,
): Promise<readonly UserError[]> {
  const pending = beginRun(name);
  const outcome = await mutate(
    TriggerTask,
    { input: args === undefined ? { name } : { name, args, resources } },
    (data) => data.triggerTask,
  );
  if (!outcome.ok) {
    pending.drop();
    return outcome.errors;
  }
  const id = outcome.value.run?.id ?? "";
  pending.confirm(id);
  notify(`${name}: run ${id} is on its way`);
  return [];
}

function named(names: readonly string[]): string {
  return names.length === 1 ? (names[0] ?? "") : plural(names.length, "task");
}

/** Pauses tasks, all or none; the message offers to undo it. Answers whether it went well. */
export async function pauseTasks(
  names: readonly string[],
  reason: string,
  resumeAt: string | null = null,
): Promise<boolean> {
  const input = {
    tasks: { names: [...names] },
    ...(reason !== "" && { reason }),
    ...(resumeAt !== null && { resumeAt }),
  };
  if (!report(await mutate(PauseTasks, { input }, (data) => data.pauseTasks))) return false;
  notify(`${named(names)} ${names.length === 1 ? "is" : "are"} paused`, {
    action: { label: "Undo", run: () => void resumeTasks(names, reason) },
  });
  return true;
}

/** Resumes tasks, all or none; of one, what says so offers to pause it again, for the reason that it had. */
export async function resumeTasks(names: readonly string[], reason = ""): Promise<boolean> {
  const input = { tasks: { names: [...names] } };
  if (!report(await mutate(ResumeTasks, { input }, (data) => data.resumeTasks))) return false;
  notify(
    `${named(names)} ${names.length === 1 ? "goes" : "go"} on`,
    names.length === 1 ? { action: { label: "Undo", run: () => void pauseTasks(names, reason) } } : {},
  );
  return true;
}
