import { mutate, type Outcome, report, type UserError } from "../api/mutate";
import { graphql, type ResultOf, type VariablesOf } from "../api/tada";
import type { RunFilterInput } from "../model/run-filter";
import { notify } from "../state/announce";

const CancelRun = graphql(`
  mutation CancelRun($input: CancelRunInput!) {
    cancelRun(input: $input) {
      run { id state }
      errors { code message path }
    }
  }
`);

const RetryRun = graphql(`
  mutation RetryRun($input: RetryRunInput!) {
    retryRun(input: $input) {
      run { id }
      errors { code message path }
    }
  }
`);

const UpdateRun = graphql(`
  mutation UpdateRun($input: UpdateRunInput!) {
    updateRun(input: $input) {
      run { id }
      errors { code message path }
    }
  }
`);

const RetryRunNow = graphql(`
  mutation RetryRunNow($input: RetryRunNowInput!) {
    retryRunNow(input: $input) {
      run { id }
      errors { code message path }
    }
  }
`);

const CancelRuns = graphql(`
  mutation CancelRuns($input: CancelRunsInput!) {
    cancelRuns(input: $input) {
      count
      hasMore
      endCursor
      errors { code message path }
    }
  }
`);

const RetryRuns = graphql(`
  mutation RetryRuns($input: RetryRunsInput!) {
    retryRuns(input: $input) {
      count
      hasMore
      endCursor
      errors { code message path }
    }
  }
`);

const SetPriorities = graphql(`
  mutation SetRunPriorities($input: SetRunPrioritiesInput!) {
    setRunPriorities(input: $input) {
      count
      hasMore
      endCursor
      errors { code message path }
    }
  }
`);

export async function cancelRun(id: string): Promise<boolean> {
  const outcome = await mutate(CancelRun, { input: { id } }, (data) => data.cancelRun);
  if (!report(outcome)) return false;
  notify(outcome.value.run?.state === "CANCELLED" ? `Run ${id} is cancelled` : `Run ${id} was asked to stop`);
  return true;
}

/** Makes a new run like the old one, which goes on from a durable step if one is named; answers its id, or null. */
export async function retryRun(id: string, fromStep?: string): Promise<string | null> {
  const outcome = await again({ id, ...(fromStep !== undefined && { fromStep }) });
  return report(outcome) ? outcome.value : null;
}

/** The same with other arguments; answers what was refused, for the fields that it names. */
export async function retryRunWith(id: string, args: Record<string, unknown>): Promise<Outcome<string>> {
  return again({ id, args });
}

async function again(input: VariablesOf<typeof RetryRun>["input"]): Promise<Outcome<string>> {
  const outcome = await mutate(RetryRun, { input }, (data) => data.retryRun);
  if (!outcome.ok) return outcome;
  const made = outcome.value.run?.id ?? "";
  notify(`Run ${input.id} is tried again as run ${made}`);
  return { ok: true, value: made };
}

/**
 * Changes what of a run that waits is given: its arguments, and the time before which it does not start; answers what
 * was refused.
 */
export async function updateRun(input: VariablesOf<typeof UpdateRun>["input"]): Promise<readonly UserError[]> {
  const outcome = await mutate(UpdateRun, { input }, (data) => data.updateRun);
  if (!outcome.ok) return outcome.errors;
  notify(`Run ${input.id} is changed`);
  return [];
}

/** Makes the next attempt of a stuck run due at once. */
export async function retryNow(id: string): Promise<boolean> {
  const outcome = await mutate(RetryRunNow, { input: { id } }, (data) => data.retryRunNow);
  if (report(outcome)) notify(`Run ${id} is due now`);
  return outcome.ok;
}

/** Changes the priority of a run that waits. */
export async function setPriority(id: string, priority: "HIGH" | "LOW"): Promise<boolean> {
  const outcome = await mutate(
    SetPriorities,
    { input: { runs: { ids: [id] }, priority } },
    (data) => data.setRunPriorities,
  );
  if (report(outcome))
    notify(`Run ${id} has ${priority.toLowerCase()} priority`, {
      action: { label: "Undo", run: () => void setPriority(id, priority === "HIGH" ? "LOW" : "HIGH") },
    });
  return outcome.ok;
}

export type BulkKind = "cancel" | "retry" | "high" | "low";

/** What a bulk action is about: the chosen rows, or all that match. */
export type BulkTarget = { readonly ids: readonly string[] } | { readonly filter: RunFilterInput };

type Selection = Pick<VariablesOf<typeof CancelRuns>["input"], "runs" | "dryRun" | "after">;
type Payload = ResultOf<typeof CancelRuns>["cancelRuns"];

/** A target as the API takes it. */
export function runsOf(target: BulkTarget): Selection["runs"] {
  return "ids" in target ? { ids: [...target.ids] } : { filter: target.filter };
}

function selectionOf(target: BulkTarget, dryRun: boolean, after: string | null = null): Selection {
  return { runs: runsOf(target), dryRun, after };
}

async function bulkOnce(kind: BulkKind, selection: Selection): Promise<Payload | null> {
  const outcome =
    kind === "cancel"
      ? await mutate(CancelRuns, { input: selection }, (data) => data.cancelRuns)
      : kind === "retry"
        ? await mutate(RetryRuns, { input: selection }, (data) => data.retryRuns)
        : await mutate(
            SetPriorities,
            { input: { ...selection, priority: kind === "high" ? "HIGH" : "LOW" } },
            (data) => data.setRunPriorities,
          );
  return report(outcome) ? outcome.value : null;
}

/** How many runs a bulk action would change, counted by the server; null if it refuses. */
export async function countBulk(kind: BulkKind, target: BulkTarget): Promise<number | null> {
  return (await bulkOnce(kind, selectionOf(target, true)))?.count ?? null;
}

/**
 * Does it, portion by portion; `progress` hears how many are done. Answers the number, or null if the server refused.
 */
export async function runBulk(
  kind: BulkKind,
  target: BulkTarget,
  progress: (done: number) => void,
): Promise<number | null> {
  let done = 0;
  for (let after: string | null = null; ; ) {
    const payload = await bulkOnce(kind, selectionOf(target, false, after));
    if (payload === null) return null;
    done += payload.count;
    progress(done);
    if (!payload.hasMore) return done;
    after = payload.endCursor;
  }
}
