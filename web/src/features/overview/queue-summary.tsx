import type { GroupRow, NodeRow } from "../../api/fragments";
import { capped, plural } from "../../lib/format";
import { paths } from "../../lib/paths";
import { wholeDuration } from "../../lib/time";
import { Few } from "../../ui/few";
import { Status } from "../../ui/status";

interface QueueSummaryProps {
  /** The fullest first. */
  groups: readonly GroupRow[];
  /** There are groups behind these. */
  moreGroups: boolean;
  /** Those that are up. */
  nodes: readonly NodeRow[];
}

/** Whether anything happens in a group, or is kept from it. */
function busy({ isPaused, running, waiting, scheduled, stuck, suspended }: GroupRow): boolean {
  return isPaused || running + waiting + scheduled + stuck + suspended > 0;
}

/** `3 running, 2 queued`, without what there is none of. */
function inWords({ running, waiting, scheduled }: GroupRow): string {
  const queued = waiting + scheduled;
  return [
    ...(running > 0 ? [`${capped(running)} running`] : []),
    ...(queued > 0 ? [`${capped(queued)} queued`] : []),
  ].join(", ");
}

function GroupLine({ group }: { group: GroupRow }) {
  return (
    <li class="summary-line">
      <a href={paths.group(group.name)}>{group.name}</a>
      <span class="num">
        {group.isPaused ? <Status name="PAUSED" title={group.pauseReason ?? undefined} /> : inWords(group)}
        {group.stuck > 0 && <span class="tone-warn"> {capped(group.stuck)} retrying</span>}
        {group.suspended > 0 && <span class="dim"> {capped(group.suspended)} suspended</span>}
        {group.oldestWait !== null && group.oldestWait >= 1 && (
          <span class="dim"> oldest {wholeDuration(group.oldestWait)}</span>
        )}
      </span>
    </li>
  );
}

function NodeLine({ node }: { node: NodeRow }) {
  return (
    <li class="summary-line">
      <a href={`/log?node=${encodeURIComponent(node.name)}`}>{node.name}</a>
      <span class="num">
        {node.running} of {plural(node.slots, "slot")}, <Status name={node.state} />
      </span>
    </li>
  );
}

/** The fullest of the groups, and nodes that are up. */
export function QueueSummary({ groups, moreGroups, nodes }: QueueSummaryProps) {
  const shown = groups.filter(busy);
  return (
    <div class="summary">
      <Few
        class="summary-list"
        few={3}
        items={[
          ...(shown.length === 0
            ? [
                <li key="none" class="summary-line dim">
                  Nothing runs and nothing is queued.
                </li>,
              ]
            : []),
          ...shown.map((group) => <GroupLine key={group.name} group={group} />),
          ...(moreGroups && shown.length === groups.length
            ? [
                <li key="more" class="summary-line dim">
                  The fullest {groups.length} of the groups
                </li>,
              ]
            : []),
        ]}
      />
      <Few
        class="summary-list"
        few={2}
        items={
          nodes.length === 0
            ? [
                <li key="none" class="summary-line tone-bad">
                  No node is up: nothing will run.
                </li>,
              ]
            : nodes.map((node) => <NodeLine key={node.id} node={node} />)
        }
      />
    </div>
  );
}
