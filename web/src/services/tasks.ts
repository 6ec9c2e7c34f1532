import { RunRowFragment, TaskRowFragment } from "../graphql/fragments";
import { graphql } from "../graphql/tada";
import { notify } from "../state/announce";
import { mutate, type Outcome, report } from "./mutate";

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
