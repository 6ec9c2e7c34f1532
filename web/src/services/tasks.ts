import { RunRowFragment, TaskRowFragment } from "../graphql/fragments";
import { graphql, type VariablesOf } from "../graphql/tada";
import { notify } from "../state/announce";
import { mutate, type Outcome, report, type UserError } from "./mutate";

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

const PauseTask = graphql(
  `
  mutation PauseTask($input: PauseTaskInput!) {
    pauseTask(input: $input) {
      task { ...TaskRow }
      errors { code message path }
    }
  }
`,
  [TaskRowFragment],
);

const ResumeTask = graphql(
  `
  mutation ResumeTask($input: TaskNameInput!) {
    resumeTask(input: $input) {
      task { ...TaskRow }
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
  mutation ResetTask($input: TaskNameInput!) {
    resetTask(input: $input) {
      task { ...TaskRow }
      errors { code message path }
    }
  }
`,
  [TaskRowFragment],
);

const DeleteTask = graphql(`
  mutation DeleteTask($input: TaskNameInput!) {
    deleteTask(input: $input) {
      deletedName
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
export async function updateTask(input: Record<string, unknown>, expectedVersion: number): Promise<readonly UserError[]> {
  const outcome = await mutate(UpdateTask, { input: { ...input, expectedVersion } as unknown as UpdateInput }, (data) => data.updateTask);
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

export async function deleteTask(name: string): Promise<boolean> {
  const outcome = await mutate(DeleteTask, { input: { name } }, (data) => data.deleteTask);
  if (!report(outcome)) return false;
  notify(`${name} is deleted`);
  return true;
}

/** Makes a run of the task now; its schedule does not move. */
export async function runTask(name: string, args?: unknown): Promise<boolean> {
  const outcome = await mutate(TriggerTask, { input: args === undefined ? { name } : { name, args } }, (data) => data.triggerTask);
  if (!report(outcome)) return false;
  notify(`${name}: run ${outcome.value.run?.id ?? ""} is on its way`);
  return true;
}

/** Pauses the task; the message offers to undo it. */
export async function pauseTask(name: string, reason: string): Promise<boolean> {
  const input = reason === "" ? { name } : { name, reason };
  const outcome = await mutate(PauseTask, { input }, (data) => data.pauseTask);
  if (!report(outcome)) return false;
  notify(`${name} is paused`, { action: { label: "Undo", run: () => void resumeTask(name) } });
  return true;
}

export async function resumeTask(name: string): Promise<boolean> {
  const outcome: Outcome<unknown> = await mutate(ResumeTask, { input: { name } }, (data) => data.resumeTask);
  if (!report(outcome)) return false;
  notify(`${name} goes on by its schedule`);
  return true;
}
