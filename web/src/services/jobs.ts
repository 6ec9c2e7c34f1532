import { useEffect, useState } from "preact/hooks";
import { request } from "../api/client";
import { mutate, type Outcome, type UserError } from "../api/mutate";
import { graphql, type ResultOf } from "../api/tada";
import type { Rate } from "../lib/limits";
import type { ResourcesInput } from "../lib/resources";
import { notify } from "../state/announce";

const JobChoices = graphql(`
  query JobChoices {
    availableJobs { name description argsSchema isolation }
  }
`);

export type JobChoiceRow = ResultOf<typeof JobChoices>["availableJobs"][number];

/** The jobs that nodes know, for forms; empty until the answer is there. */
export function useJobs(wanted: boolean): readonly JobChoiceRow[] {
  const [jobs, setJobs] = useState<readonly JobChoiceRow[]>([]);
  useEffect(() => {
    if (!wanted) return undefined;
    const controller = new AbortController();
    request(JobChoices, {}, controller.signal).then(
      (data) => setJobs(data.availableJobs),
      (error: unknown) => {
        if (!controller.signal.aborted)
          notify(`The jobs could not be listed: ${error instanceof Error ? error.message : String(error)}`, {
            tone: "bad",
          });
      },
    );
    return () => controller.abort();
  }, [wanted]);
  return jobs;
}

const TriggerJob = graphql(`
  mutation TriggerJob($jobName: String!, $args: JSON, $resources: ResourcesInput) {
    triggerJob(jobName: $jobName, args: $args, resources: $resources) {
      success
      message
      run { id }
      errors { code message path }
    }
  }
`);

const UpdateJob = graphql(`
  mutation UpdateJob($input: UpdateJobInput!) {
    updateJob(input: $input) {
      job { name }
      errors { code message path }
    }
  }
`);

/** Sets the rate of a job instead of that of its code; null = that one. */
export async function updateJobRate(name: string, rate: Rate | null): Promise<Outcome<unknown>> {
  return mutate(UpdateJob, { input: { name, rate } }, (data) => data.updateJob);
}

/** Makes a run of a job now; answers what was refused, nothing when it is on its way. */
export async function triggerJob(
  jobName: string,
  args: unknown,
  resources: ResourcesInput | null = null,
): Promise<readonly UserError[]> {
  const outcome = await beginJob(jobName, args, resources);
  if (!outcome.ok) return outcome.errors;
  const { success, message } = outcome.value;
  notify(message, { tone: success ? "info" : "bad" });
  return success ? [] : [{ code: "REFUSED", message, path: [] }];
}

/** Makes a run of a job now, without a word of it. */
export async function beginJob(jobName: string, args: unknown, resources: ResourcesInput | null = null) {
  return mutate(TriggerJob, { jobName, args, resources }, (data) => data.triggerJob);
}
