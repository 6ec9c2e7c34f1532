import { StepFragment, type StepRow } from "../api/step";
import { graphql } from "../api/tada";
import { type LiveResult, useLive } from "../live/use-live";

/** Of a run with very many steps so many are shown at once. */
export const STEPS_SHOWN = 300;

const StepsDocument = graphql(
  `
  query RunSteps($id: ID!, $first: Int!, $skip: Int!) {
    asOf
    run(id: $id) { steps(first: $first, skip: $skip) { ...StepRow } }
  }
`,
  [StepFragment],
);

/** The steps of a run behind the first ones as they are, one more than are shown. */
export function useSteps(id: string, skip = 0): LiveResult<readonly StepRow[]> {
  return useLive(`steps/${id}/${skip}`, {
    document: StepsDocument,
    variables: () => ({ id, first: STEPS_SHOWN + 1, skip }),
    init: (data): readonly StepRow[] => data.run?.steps ?? [],
    outdates: (event) =>
      event.runId === id &&
      (event.kind === "STEP_FINISHED" || event.kind === "RUN_UPDATED" || event.kind.startsWith("EXECUTION_")),
  });
}
