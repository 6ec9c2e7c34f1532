/** Runs of a flow, or their jobs, and which comes after which. Pure. */

export interface FlowRun {
  readonly id: string;
  readonly key: string;
  readonly jobName: string;
  readonly state: string;
  /** The ids of the runs that it comes after. */
  readonly after: readonly string[];
}

/** The runs of one job, counted by the server. */
export interface FlowJob {
  readonly jobName: string;
  readonly after: readonly string[];
  readonly counts: ReadonlyMap<string, number>;
}

/** A box of the drawing: one run, or all runs of one job. */
export interface FlowBox {
  readonly id: string;
  readonly title: string;
  /** The boxes that it comes after. */
  readonly after: readonly string[];
  /** The run, if it is only one. */
  readonly run: FlowRun | null;
  readonly counts: ReadonlyMap<string, number>;
}

/** Above so many runs there is a box for each job instead. */
export const FOLDS_ABOVE = 100;

/** A box for each run. */
export function boxesOfRuns(runs: readonly FlowRun[]): readonly FlowBox[] {
  return known(
    runs.map((run) => ({ id: run.id, title: run.key, after: run.after, run, counts: new Map([[run.state, 1]]) })),
  );
}

/** A box for each job. */
export function boxesOfJobs(jobs: readonly FlowJob[]): readonly FlowBox[] {
  return known(jobs.map(({ jobName, after, counts }) => ({ id: jobName, title: jobName, after, run: null, counts })));
}

/** What a box comes after and is not among them does not count, nor does itself. */
function known(boxes: readonly FlowBox[]): readonly FlowBox[] {
  const ids = new Set(boxes.map(({ id }) => id));
  return boxes.map((box) => ({ ...box, after: box.after.filter((id) => id !== box.id && ids.has(id)) }));
}

/** What a box shows as its state: the most urgent of its runs. */
const URGENT = ["FAILED", "STUCK", "RUNNING", "CANCELLED", "SKIPPED", "SCHEDULED", "WAITING", "SUSPENDED", "SUCCESS"];

export function boxState({ counts }: Pick<FlowBox, "counts">): string {
  return URGENT.find((state) => (counts.get(state) ?? 0) > 0) ?? "";
}

export function sizeOf({ counts }: Pick<FlowBox, "counts">): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}
