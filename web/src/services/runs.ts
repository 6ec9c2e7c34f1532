import { mutate, type Outcome, report, type UserError } from "../api/mutate";
import { graphql, type ResultOf, type VariablesOf } from "../api/tada";
import { plural } from "../lib/format";
import { serverNow } from "../live/clock";
import { notify } from "../state/announce";
import { beginJob } from "./jobs";

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
      runs { id submittedAt }
      errors { code message path }
    }
  }
`);

const RetryRuns = graphql(`
  mutation RetryRuns($input: RetryRunsInput!) {
    retryRuns(input: $input) {
      count
      runs { id submittedAt }
      errors { code message path }
    }
  }
`);

const SetPriorities = graphql(`
  mutation SetRunPriorities($input: SetRunPrioritiesInput!) {
    setRunPriorities(input: $input) {
      count
      runs { id submittedAt }
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

/** Makes the next attempt of a run that is to be retried due at once. */
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

type RunFilter = Extract<VariablesOf<typeof CancelRuns>["input"]["runs"], { filter: unknown }>["filter"];

/** What a bulk action is about: the chosen rows, or all that match. */
export type BulkTarget = { readonly ids: readonly string[] } | { readonly filter: RunFilter };

type Payload = ResultOf<typeof CancelRuns>["cancelRuns"];

/** A target as the API takes it. */
export function runsOf(target: BulkTarget): VariablesOf<typeof CancelRuns>["input"]["runs"] {
  return "ids" in target ? { ids: [...target.ids] } : { filter: target.filter };
}

/** Runs that are changed at once. More are changed by a run of the job `bulk_action`. */
export const AT_ONCE = 200;

const DONE: Readonly<Record<BulkKind, string>> = {
  cancel: "cancelled or asked to stop",
  retry: "tried again",
  high: "set to high priority",
  low: "set to low priority",
};

const OPPOSITE: Readonly<Record<BulkKind, BulkKind>> = { cancel: "retry", retry: "cancel", high: "low", low: "high" };

async function bulk(kind: BulkKind, target: BulkTarget, dryRun: boolean): Promise<Payload | null> {
  const selection = { runs: runsOf(target), dryRun };
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
  return (await bulk(kind, target, true))?.count ?? null;
}

/** Changes a few runs at once; the notice offers to undo it. */
export async function changeRuns(kind: BulkKind, target: BulkTarget): Promise<void> {
  const began = serverNow();
  const changed = await bulk(kind, target, false);
  if (changed === null) return;
  // A retry answers the unfinished run that has the unique key; that one is not cancelled by an undo.
  const own = changed.runs.filter((run) => kind !== "retry" || Date.parse(run.submittedAt) >= began - SKEW);
  const undone = { id: { in: own.map((run) => run.id) }, ...(kind === "cancel" && { state: { eq: "CANCELLED" } }) };
  notify(
    `${plural(changed.count, "run")} ${DONE[kind]}`,
    own.length === 0
      ? {}
      : { action: { label: "Undo", run: () => void changeRuns(OPPOSITE[kind], { filter: undone as RunFilter }) } },
  );
}

/** Milliseconds by which the clock of the page may be wrong. */
const SKEW = 1_000;

/** Has the server change many runs; answers the id of the run that does it, or null if it refuses. */
export async function beginBulk(kind: BulkKind, target: BulkTarget): Promise<string | null> {
  const filter = "ids" in target ? { id: { in: [...target.ids] } } : target.filter;
  return begun(await beginJob("bulk_action", { action: kind, filter }));
}

/** Has the server undo a bulk action; answers the id of the run that does it, or null if it refuses. */
export async function undoBulk(id: string): Promise<string | null> {
  return begun(await beginJob("undo_bulk_action", { run: Number(id) }));
}

function begun(outcome: Awaited<ReturnType<typeof beginJob>>): string | null {
  return report(outcome) ? (outcome.value.run?.id ?? null) : null;
}
