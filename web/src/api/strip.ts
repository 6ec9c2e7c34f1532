import { type FragmentOf, graphql } from "./tada";

/** The bars of an occurrence strip, column by column. */
export const StripFragment = graphql(`
  fragment StripColumns on OccurrenceStrip { ids states at seconds reasons counts }
`);

export type StripColumns = FragmentOf<typeof StripFragment>;
