import { signal } from "@preact/signals";
import { type FragmentOf, graphql } from "../api/tada";
import { link } from ".";

export const TilesFragment = graphql(`
  fragment Tiles on Overview {
    at
    running
    waiting
    scheduled
    stuck
    failedLast24h
    unknownFailedLast24h
    unknownErrors
    unknownErrorsJobs
    failedPrevious24h
    successRate
    runsPerMinute
    perMinute
    stalledTasks
    liveNodes
    drainingNodes
    slots
  }
`);

const TickDocument = graphql(
  `
  subscription OverviewTick {
    overview(seconds: 1) { ...Tiles }
  }
`,
  [TilesFragment],
);

export type TilesData = FragmentOf<typeof TilesFragment>;

/** The server's figures, pushed every second: for the tiles, and for the title and icon of every page. */
export const health = signal<TilesData | null>(null);

/** Follows the figures. */
export function startHealth(): void {
  link.subscribe({
    document: TickDocument,
    variables: () => ({}),
    next: ({ overview }) => {
      health.value = overview;
    },
  });
}
