/** The runs of a flow in layers: each stands one layer behind the last of those that it comes after. Pure. */

export interface FlowRun {
  readonly id: string;
  readonly key: string;
  readonly jobName: string;
  readonly state: string;
  /** The ids of the runs that it comes after. */
  readonly after: readonly string[];
}

/** A box of the drawing: one run, or all runs of one job in one layer. */
export interface FlowBox {
  readonly id: string;
  readonly title: string;
  readonly layer: number;
  readonly row: number;
  readonly runs: readonly FlowRun[];
}

export interface FlowGraph {
  readonly boxes: readonly FlowBox[];
  readonly edges: readonly (readonly [from: FlowBox, to: FlowBox])[];
  readonly layers: number;
  readonly rows: number;
}

/** Above so many runs those of one job share a box. */
export const FOLDS_ABOVE = 100;

/** The layer of each run. What it comes after and is not among them, as on a later page, does not count. */
function layersOf(runs: readonly FlowRun[], before: (run: FlowRun) => readonly FlowRun[]): ReadonlyMap<FlowRun, number> {
  const layers = new Map<FlowRun, number>();
  // By rounds instead of by recursion: a chain may be thousands of runs long.
  let open = runs;
  while (open.length > 0) {
    const ready = open.filter((run) => before(run).every((other) => layers.has(other)));
    // The server refuses circles; if there were one, its runs would stand in front.
    for (const run of ready.length > 0 ? ready : open) layers.set(run, Math.max(-1, ...before(run).map((other) => layers.get(other) ?? -1)) + 1);
    open = open.filter((run) => !layers.has(run));
  }
  return layers;
}

export function flowGraph(runs: readonly FlowRun[], foldsAbove = FOLDS_ABOVE): FlowGraph {
  const of = new Map(runs.map((run) => [run.id, run]));
  const before = (run: FlowRun): readonly FlowRun[] => run.after.flatMap((id) => of.get(id) ?? []);
  const layers = layersOf(runs, before);
  const isFolded = runs.length > foldsAbove;
  const groups = new Map<string, FlowRun[]>();
  for (const run of runs) {
    const name = isFolded ? `${layers.get(run) ?? 0} ${run.jobName}` : run.id;
    groups.set(name, [...(groups.get(name) ?? []), run]);
  }
  const filled = new Map<number, number>();
  const boxOf = new Map<FlowRun, FlowBox>();
  const boxes = [...groups].map(([id, members]): FlowBox => {
    const [first] = members;
    const layer = first === undefined ? 0 : (layers.get(first) ?? 0);
    const row = filled.get(layer) ?? 0;
    filled.set(layer, row + 1);
    const box = { id, title: (members.length === 1 ? first?.key : first?.jobName) ?? "", layer, row, runs: members };
    for (const run of members) boxOf.set(run, box);
    return box;
  });
  const edges = new Map<string, readonly [FlowBox, FlowBox]>();
  for (const run of runs) {
    for (const other of before(run)) {
      const [from, to] = [boxOf.get(other), boxOf.get(run)];
      if (from !== undefined && to !== undefined) edges.set(`${from.id} → ${to.id}`, [from, to]);
    }
  }
  return { boxes, edges: [...edges.values()], layers: filled.size, rows: Math.max(0, ...filled.values()) };
}

/** What a box shows as its state: the most urgent of its runs. */
const URGENT = ["FAILED", "STUCK", "RUNNING", "CANCELLED", "SKIPPED", "SCHEDULED", "WAITING", "SUSPENDED", "SUCCESS"];

export function boxState({ runs }: Pick<FlowBox, "runs">): string {
  return URGENT.find((state) => runs.some((run) => run.state === state)) ?? runs[0]?.state ?? "";
}
