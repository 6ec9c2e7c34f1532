import { graphql, type FragmentOf } from "./tada";

/** One bar of an occurrence strip. */
export const StripFragment = graphql(`
  fragment StripOccurrence on Occurrence {
    scheduledFor
    run { id state startedAt finishedAt }
    skipped { reason count }
  }
`);

export type StripRow = FragmentOf<typeof StripFragment>;
