/** Runs of a flow, or their jobs, in layers: each stands one layer behind the last of those it comes after. Pure. */

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
  readonly layer: number;
  readonly row: number;
  /** The run, if it is only one. */
  readonly run: FlowRun | null;
  readonly counts: ReadonlyMap<string, number>;
}

interface Drawn {
  readonly id: string;
  readonly title: string;
  readonly after: readonly string[];
  readonly run: FlowRun | null;
  readonly counts: ReadonlyMap<string, number>;
}

export interface FlowGraph {
  readonly boxes: readonly FlowBox[];
  readonly edges: readonly (readonly [from: FlowBox, to: FlowBox])[];
  readonly layers: number;
  readonly rows: number;
}

/** Above so many runs there is a box for each job instead. */
export const FOLDS_ABOVE = 100;

/** The layer of each. What it comes after and is not among them does not count, nor does itself. */
function layersOf(drawn: readonly Drawn[], before: (one: Drawn) => readonly Drawn[]): ReadonlyMap<Drawn, number> {
  const layers = new Map<Drawn, number>();
  // By rounds instead of by recursion: a chain may be long.
  let open = drawn;
  while (open.length > 0) {
    const ready = open.filter((one) => before(one).every((other) => layers.has(other)));
    // Jobs may stand in a circle, runs cannot: the first of them stands in front.
    for (const one of ready.length > 0 ? ready : open.slice(0, 1)) layers.set(one, Math.max(-1, ...before(one).map((other) => layers.get(other) ?? -1)) + 1);
    open = open.filter((one) => !layers.has(one));
  }
  return layers;
}

/** A box for each run. */
export function graphOfRuns(runs: readonly FlowRun[]): FlowGraph {
  return graphOf(runs.map((run) => ({ id: run.id, title: run.key, after: run.after, run, counts: new Map([[run.state, 1]]) })));
}

/** A box for each job. */
export function graphOfJobs(jobs: readonly FlowJob[]): FlowGraph {
  return graphOf(jobs.map(({ jobName, after, counts }) => ({ id: jobName, title: jobName, after, run: null, counts })));
}

function graphOf(drawn: readonly Drawn[]): FlowGraph {
  const of = new Map(drawn.map((one) => [one.id, one]));
  const before = (one: Drawn): readonly Drawn[] => one.after.flatMap((id) => (id === one.id ? [] : (of.get(id) ?? [])));
  const layers = layersOf(drawn, before);
  const filled = new Map<number, number>();
  const boxOf = new Map<Drawn, FlowBox>();
  for (const one of drawn) {
    const layer = layers.get(one) ?? 0;
    const row = filled.get(layer) ?? 0;
    filled.set(layer, row + 1);
    boxOf.set(one, { id: one.id, title: one.title, layer, row, run: one.run, counts: one.counts });
  }
  const edges = drawn.flatMap((one) => before(one).flatMap((other) => pair(boxOf.get(other), boxOf.get(one))));
  return { boxes: [...boxOf.values()], edges, layers: filled.size, rows: Math.max(0, ...filled.values()) };
}

function pair(from: FlowBox | undefined, to: FlowBox | undefined): readonly (readonly [FlowBox, FlowBox])[] {
  return from === undefined || to === undefined ? [] : [[from, to]];
}

/** What a box shows as its state: the most urgent of its runs. */
const URGENT = ["FAILED", "STUCK", "RUNNING", "CANCELLED", "SKIPPED", "SCHEDULED", "WAITING", "SUSPENDED", "SUCCESS"];

export function boxState({ counts }: Pick<FlowBox, "counts">): string {
  return URGENT.find((state) => (counts.get(state) ?? 0) > 0) ?? "";
}

export function sizeOf({ counts }: Pick<FlowBox, "counts">): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}
