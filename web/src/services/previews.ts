import { mutate, report } from "../api/mutate";
import { graphql, type ResultOf } from "../api/tada";
import type { ResourcesInput } from "../lib/resources";
import { type BulkTarget, runsOf } from "./runs";

const PreviewFragment = graphql(`
  fragment PreviewParts on Preview {
    sentence
    droppedIds
    runs {
      outcome
      sentence
      explanation { sentence details changesAt }
    }
  }
`);

const TryJob = graphql(
  `
  mutation TryJob($jobName: String!, $args: JSON, $resources: ResourcesInput) {
    triggerJob(jobName: $jobName, args: $args, resources: $resources, dryRun: true) {
      preview { ...PreviewParts }
      errors { code message path }
    }
  }
`,
  [PreviewFragment],
);

const TryTask = graphql(
  `
  mutation TryTask($input: TriggerTaskInput!) {
    triggerTask(input: $input) {
      preview { ...PreviewParts }
      errors { code message path }
    }
  }
`,
  [PreviewFragment],
);

const TryRetry = graphql(
  `
  mutation TryRetry($input: RetryRunInput!) {
    retryRun(input: $input) {
      preview { ...PreviewParts }
      errors { code message path }
    }
  }
`,
  [PreviewFragment],
);

const TryRetries = graphql(
  `
  mutation TryRetries($input: RetryRunsInput!) {
    retryRuns(input: $input) {
      preview { ...PreviewParts }
      errors { code message path }
    }
  }
`,
  [PreviewFragment],
);

export type PreviewParts = ResultOf<typeof PreviewFragment>;

/** What triggering a job would do; null if the server refuses. */
export async function tryJob(
  jobName: string,
  args: unknown,
  resources: ResourcesInput | null = null,
): Promise<PreviewParts | null> {
  const outcome = await mutate(TryJob, { jobName, args, resources }, (data) => data.triggerJob);
  return report(outcome) ? outcome.value.preview : null;
}

/** What triggering a task would do; null if the server refuses. */
export async function tryTask(
  name: string,
  args: unknown,
  resources: ResourcesInput | null = null,
): Promise<PreviewParts | null> {
  const outcome = await mutate(TryTask, { input: { name, args, resources, dryRun: true } }, (data) => data.triggerTask);
  return report(outcome) ? outcome.value.preview : null;
}

/** What retrying a run would do; null if the server refuses. */
export async function tryRetry(id: string, args: unknown): Promise<PreviewParts | null> {
  const outcome = await mutate(TryRetry, { input: { id, args, dryRun: true } }, (data) => data.retryRun);
  return report(outcome) ? outcome.value.preview : null;
}

/** What retrying many runs would do, the first 10,000 of them; null if the server refuses. */
export async function tryRetries(target: BulkTarget): Promise<PreviewParts | null> {
  const input = { runs: runsOf(target), dryRun: true };
  const outcome = await mutate(TryRetries, { input }, (data) => data.retryRuns);
  return report(outcome) ? outcome.value.preview : null;
}
