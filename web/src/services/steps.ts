import { StepFragment, type StepRow } from "../api/step";
import { graphql } from "../api/tada";
import { type LiveResult, useLive } from "../live/use-live";

/** Of a run with very many steps so many are shown at once. */
export const STEPS_SHOWN = 300;

const StepsDocument = graphql(
  `
  query RunSteps($id: ID!, $first: Int!, $after: String) {
    asOf
    run(id: $id) { steps(first: $first, after: $after) { edges { cursor node { ...StepRow } } pageInfo { hasNextPage } } }
  }
`,
  [StepFragment],
);

/** A page of the steps of a run. */
export interface Steps {
  readonly rows: readonly StepRow[];
  /** Of each row. */
  readonly cursors: readonly string[];
  readonly hasMore: boolean;
}

/** The steps of a run as they are, those behind a cursor. */
export function useSteps(id: string, after: string | null = null): LiveResult<Steps> {
  return useLive(`steps/${id}/${after ?? ""}`, {
    document: StepsDocument,
    variables: () => ({ id, first: STEPS_SHOWN, after }),
    init: (data): Steps => ({
      rows: data.run?.steps.edges.map(({ node }) => node) ?? [],
      cursors: data.run?.steps.edges.map(({ cursor }) => cursor) ?? [],
      hasMore: data.run?.steps.pageInfo.hasNextPage ?? false,
    }),
    outdates: (event) =>
      event.runId === id &&
      (event.kind === "STEP_FINISHED" || event.kind === "RUN_UPDATED" || event.kind.startsWith("EXECUTION_")),
  });
}
