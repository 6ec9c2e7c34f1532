import { signal } from "@preact/signals";

/** A run that was asked for and is not there yet: it shows within a frame of the press. */
export interface PendingRun {
  readonly key: number;
  readonly name: string;
  /** Known once the server has answered. */
  readonly runId: string | null;
}

/** How long a run that the server has confirmed is shown as pending at most, if no event brings it. */
const AT_MOST = 3_000;

export const pendingRuns = signal<readonly PendingRun[]>([]);

let nextKey = 1;

/** Shows a run of this task or job as pending; the answer tells what became of it. */
export function beginRun(name: string): { confirm(runId: string): void; drop(): void } {
  const key = nextKey;
  nextKey += 1;
  pendingRuns.value = [...pendingRuns.value, { key, name, runId: null }];
  const drop = (): void => {
    pendingRuns.value = pendingRuns.value.filter((run) => run.key !== key);
  };
  return {
    drop,
    confirm: (runId) => {
      pendingRuns.value = pendingRuns.value.map((run) => (run.key === key ? { ...run, runId } : run));
      setTimeout(drop, AT_MOST);
    },
  };
}

/** Those that the list does not show yet. */
export function stillPending(
  pending: readonly PendingRun[],
  shown: readonly (string | null | undefined)[],
): readonly PendingRun[] {
  return pending.filter((run) => run.runId === null || !shown.includes(run.runId));
}
