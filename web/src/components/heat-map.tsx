import type { ExecutionRow } from "../graphql/fragments";
import { heatMap } from "../lib/chart";
import { FAILURES } from "../lib/log-filter";
import { plural } from "../lib/format";
import { zone } from "../state/prefs";
import { ChartFrame } from "./chart-frame";

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] as const;
const CELL = 24;
const LEFT = 36;
const TOP = 16;

/** When a task runs and when it fails: weekday by hour. */
export function HeatMap({ executions }: { executions: readonly ExecutionRow[] }) {
  const entries = executions.map((execution) => ({ at: Date.parse(execution.startedAt), failed: execution.outcome !== null && FAILURES.includes(execution.outcome) }));
  const cells = heatMap(entries, zone.value === "local");
  const most = Math.max(1, ...cells.map((cell) => cell.count));
  const zoneLabel = zone.value === "utc" ? "UTC" : "local time";
  return (
    <ChartFrame
      title={`Starts by weekday and hour, ${zoneLabel}`}
      columns={["Day", "Hour", "Started", "Failed"]}
      rows={[...cells].sort((left, right) => left.day * 24 + left.hour - right.day * 24 - right.hour).map((cell) => [DAYS[cell.day] ?? "", `${cell.hour}:00`, String(cell.count), String(cell.failed)])}
    >
      <svg class="plot" viewBox={`0 0 ${LEFT + 24 * CELL} ${TOP + 7 * 20}`} role="img" aria-label={`${plural(executions.length, "start")} by weekday and hour`}>
        {[0, 6, 12, 18].map((hour) => (
          <text key={hour} class="axis" x={LEFT + hour * CELL} y={11}>
            {`${hour}:00`}
          </text>
        ))}
        {DAYS.map((day, index) => (
          <text key={day} class="axis" x={0} y={TOP + index * 20 + 14}>
            {day}
          </text>
        ))}
        {Array.from({ length: 168 }, (_, key) => (
          <rect key={key} class="heat-empty" x={LEFT + (key % 24) * CELL} y={TOP + Math.floor(key / 24) * 20} width={CELL - 2} height={18} rx={2} />
        ))}
        {cells.map((cell) => (
          <rect
            key={`${cell.day}-${cell.hour}`}
            class={cell.failed > 0 ? "fill-bad" : "fill-active"}
            opacity={0.25 + 0.75 * (cell.count / most)}
            x={LEFT + cell.hour * CELL}
            y={TOP + cell.day * 20}
            width={CELL - 2}
            height={18}
            rx={2}
          >
            <title>{`${DAYS[cell.day] ?? ""} ${cell.hour}:00: ${plural(cell.count, "start")}, ${cell.failed} failed`}</title>
          </rect>
        ))}
      </svg>
    </ChartFrame>
  );
}
