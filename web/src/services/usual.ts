import { useEffect, useState } from "preact/hooks";
import { request } from "../graphql/client";
import { graphql } from "../graphql/tada";

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

const known = new Map<string, { readonly p95: number | null; readonly at: number }>();

function keyOf({ taskName, jobName }: Runner): string {
  return taskName === null ? `job ${jobName}` : `task ${taskName}`;
}

async function learn(runner: Runner): Promise<void> {
  const { statistics } = await request(UsualDocument, runner.taskName === null ? { jobName: runner.jobName } : { taskName: runner.taskName });
  known.set(keyOf(runner), { p95: statistics.count >= ENOUGH ? statistics.p95 : null, at: Date.now() });
}

/** The 95th percentile of the durations of the last day, in seconds, by task; asked once for each that runs. */
export function useUsual(runners: readonly Runner[]): (runner: Runner) => number | null {
  const [, render] = useState(0);
  const names = runners.map(keyOf).join("\n");
  useEffect(() => {
    const missing = runners.filter((runner) => Date.now() - (known.get(keyOf(runner))?.at ?? 0) > FRESH_FOR);
    for (const runner of missing) known.set(keyOf(runner), { p95: known.get(keyOf(runner))?.p95 ?? null, at: Date.now() });
    if (missing.length === 0) return;
    // Without an answer the mark is simply not drawn: the page itself says that the server cannot be reached.
    void Promise.allSettled(missing.map(learn)).then(() => render((count) => count + 1));
  }, [names]);
  return (runner) => known.get(keyOf(runner))?.p95 ?? null;
}
