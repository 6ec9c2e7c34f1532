import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { request } from "../../api/client";
import { graphql } from "../../api/tada";

const UsualDocument = graphql(`
  query UsualDuration($jobName: String, $taskName: String) {
    statistics(jobName: $jobName, taskName: $taskName) { p95 count }
  }
`);

/** What runs: a task, or a job without one. */
export interface Runner {
  readonly taskName: string | null;
  readonly jobName: string;
}

const FRESH_FOR = 5 * 60_000;
/** With fewer executions a percentile says nothing. */
const ENOUGH = 10;

/**
 * A signal, so that what asks is drawn again: an answer may come by the question of another page, or while it leaves.
 */
const known = signal<ReadonlyMap<string, { readonly p95: number | null; readonly at: number }>>(new Map());

function keep(keys: readonly string[], p95: (key: string) => number | null): void {
  known.value = new Map([...known.peek(), ...keys.map((key) => [key, { p95: p95(key), at: Date.now() }] as const)]);
}

function keyOf({ taskName, jobName }: Runner): string {
  return taskName === null ? `job ${jobName}` : `task ${taskName}`;
}

async function learn(runner: Runner): Promise<void> {
  const { statistics } = await request(
    UsualDocument,
    runner.taskName === null ? { jobName: runner.jobName } : { taskName: runner.taskName },
  );
  keep([keyOf(runner)], () => (statistics.count >= ENOUGH ? statistics.p95 : null));
}

/** The 95th percentile of the durations of the last day, in seconds, by task; asked once for each that runs. */
export function useUsual(runners: readonly Runner[]): (runner: Runner) => number | null {
  const usual = known.value;
  const names = runners.map(keyOf).join("\n");
  useEffect(() => {
    const missing = runners.filter((runner) => Date.now() - (known.peek().get(keyOf(runner))?.at ?? 0) > FRESH_FOR);
    if (missing.length === 0) return;
    // Asked once: what was known stays until the answer comes.
    keep(missing.map(keyOf), (key) => known.peek().get(key)?.p95 ?? null);
    // Without an answer the mark is simply not drawn: the page itself says that the server cannot be reached.
    void Promise.allSettled(missing.map(learn));
  }, [names]);
  return (runner) => usual.get(keyOf(runner))?.p95 ?? null;
}
