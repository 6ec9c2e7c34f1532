import { type FragmentOf, graphql } from "../../api/tada";

/** One row of a flow list. */
export const FlowRowFragment = graphql(`
  fragment FlowRow on Flow {
    id
    name
    state
    isOpen
    uniqueKey
    labels
    submittedAt
    finishedAt
    cancelRequestedAt
    submitter
    progress { total done failed cancelled skipped running waiting suspended stuck scheduled success }
  }
`);

export type FlowRow = FragmentOf<typeof FlowRowFragment>;
