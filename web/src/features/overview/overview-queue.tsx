import { GroupRowFragment, NodeRowFragment } from "../../api/fragments";
import { graphql, type ResultOf } from "../../api/tada";
import { useLive } from "../../live/use-live";
import { LivePart } from "../../ui/live-part";
import { Section } from "../../ui/section";
import { QueueSummary } from "./queue-summary";

export const QueueFragment = graphql(
  `
  fragment OverviewQueue on Query {
    groups(first: 6, orderBy: [{ field: DEPTH, direction: DESC }, { field: RUNNING, direction: DESC }]) {
      nodes { ...GroupRow }
      pageInfo { hasNextPage }
    }
    nodes(first: 6, filter: { state: { in: [STARTING, ACTIVE, STALLED, DRAINING, STOPPING] } }) { nodes { ...NodeRow } }
  }
`,
  [GroupRowFragment, NodeRowFragment],
);

const QueueDocument = graphql(`query OverviewQueueAlone { asOf ...OverviewQueue }`, [QueueFragment]);

/** The queue by group, and the nodes that are up; `first` is the first answer, if it came with that of the page. */
export function OverviewQueue({ first }: { first: ResultOf<typeof QueueDocument> | null }) {
  const queue = useLive("overview/queue", {
    document: QueueDocument,
    first,
    variables: () => ({}),
    init: (data) => data,
    outdates: (event) =>
      event.kind.startsWith("RUN_") || event.kind.startsWith("NODE_") || event.kind === "GROUP_UPDATED",
    every: 1_500,
  });
  return (
    <Section title="Queue and nodes" aside={<a href="/groups">Groups</a>}>
      <LivePart live={queue} rows={2}>
        {(state) => (
          <QueueSummary
            groups={state.groups.nodes}
            moreGroups={state.groups.pageInfo.hasNextPage}
            nodes={state.nodes.nodes}
          />
        )}
      </LivePart>
    </Section>
  );
}
