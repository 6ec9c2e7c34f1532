/** Why runs wait, said once for neighbours that wait for the same. Pure. */
import type { RunRow } from "../api/fragments";

/** A run with what says why it is where it is. */
export interface ExplainedRun extends RunRow {
  readonly explain?: {
    readonly sentence: string;
    readonly details: readonly string[];
    readonly changesAt: string | null;
  };
}

/** The runs that wait for the same reason as the run above them: it is not said again and again. */
export type Repeated = ReadonlySet<string>;

/** Runs that wait, and whose reason is to the last digit that of the run above. */
export function repeatedReasons(runs: readonly Pick<ExplainedRun, "id" | "state" | "explain">[]): Repeated {
  const same = (left: ExplainedRun["explain"], right: ExplainedRun["explain"]): boolean =>
    left !== undefined &&
    right !== undefined &&
    left.sentence !== "" &&
    left.sentence === right.sentence &&
    left.changesAt === right.changesAt &&
    left.details.join("\n") === right.details.join("\n");
  return new Set(
    runs
      .filter((run, index) => run.state !== "RUNNING" && same(run.explain, runs[index - 1]?.explain))
      .map(({ id }) => id),
  );
}
