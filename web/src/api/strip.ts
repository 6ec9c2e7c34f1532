import { type FragmentOf, graphql } from "./tada";

/** The bars of an occurrence strip, column by column; their times tell them apart. */
export const StripFragment = graphql(`
  fragment StripColumns on OccurrenceStrip { states at seconds reasons counts }
`);

export type StripColumns = FragmentOf<typeof StripFragment>;
