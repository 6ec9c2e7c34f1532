import { type FragmentOf, graphql } from "./tada";

/** A stretch of equal skips. */
export const SkippedFragment = graphql(`
  fragment Skipped on SkippedOccurrence {
    id
    taskName
    reason
    firstScheduledFor
    lastScheduledFor
    count
    policy
    node
    at
    run { id }
  }
`);

export type SkippedRow = FragmentOf<typeof SkippedFragment>;
