import type { GroupRow, NodeRow } from "../graphql/fragments";
import { capped } from "../lib/format";
import { paths } from "../lib/paths";
import { wholeDuration } from "../lib/time";
import { Status } from "./status";
import { Time } from "./time";

interface QueueSummaryProps {
  /** The fullest first. */
  groups: readonly GroupRow[];
  /** There are groups behind these. */
  moreGroups: boolean;
  /** Those that are up. */
  nodes: readonly NodeRow[];
}

/** The fullest of the groups, and nodes that are up. */
export function QueueSummary({ groups, moreGroups, nodes }: QueueSummaryProps) {
  return (
    <div class="summary">
      <ul>
        {groups.map((group) => (
          <li key={group.name} class="summary-line">
            <a href={paths.group(group.name)}>{group.name}</a>
            <span class="num">
              {group.paused ? <Status name="PAUSED" title={group.pauseReason ?? undefined} /> : `${capped(group.running)} running, ${capped(group.waiting + group.scheduled)} queued`}
              {group.stuck > 0 && <span class="tone-warn">, {capped(group.stuck)} stuck</span>}
              {group.suspended > 0 && <span class="dim">, {capped(group.suspended)} suspended</span>}
              {group.oldestWait !== null && group.oldestWait >= 1 && <span class="dim">, oldest {wholeDuration(group.oldestWait)}</span>}
            </span>
          </li>
        ))}
        {moreGroups && <li class="summary-line dim">The fullest {groups.length} of the groups</li>}
      </ul>
      <ul>
        {nodes.map((node) => (
          <li key={node.id} class="summary-line">
            <a href={`/log?node=${encodeURIComponent(node.name)}`}>{node.name}</a>
            <span class="num">
              {node.running} of {node.slots} slots, <Status name={node.state} /> <span class="dim">heartbeat <Time at={node.heartbeatAt} /></span>
            </span>
          </li>
        ))}
        {nodes.length === 0 && <li class="summary-line tone-bad">No node is up: nothing will run.</li>}
      </ul>
    </div>
  );
}
