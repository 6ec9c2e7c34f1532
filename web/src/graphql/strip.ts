import { graphql, type FragmentOf } from "./tada";

/** One bar of an occurrence strip. */
export const StripFragment = graphql(`
  fragment StripOccurrence on Occurrence {
    __typename
    ... on Run { id state scheduledFor submittedAt startedAt finishedAt }
    ... on SkippedOccurrence { id reason count lastScheduledFor }
  }
`);

export type StripRow = FragmentOf<typeof StripFragment>;
