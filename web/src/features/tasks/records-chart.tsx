import type { ExecutionRow } from "../../api/fragments";
import { compact, integer, plural } from "../../lib/format";
import { paths } from "../../lib/paths";
import { executionStatus, statusView } from "../../lib/status";
import { full } from "../../lib/time";
import { linear, niceCeiling } from "../../model/chart";
import { zone } from "../../state/prefs";
import { navigate } from "../../state/route";
import { ChartFrame, ValueAxis } from "../../ui/chart-frame";

const WIDTH = 640;
const HEIGHT = 170;
const LEFT = 52;
const BOTTOM = 20;
/** Few executions do not make broad bars. */
const BROADEST = 24;

/** Records that the last executions processed, a bar each, oldest first. */
export function RecordsChart({ executions }: { executions: readonly ExecutionRow[] }) {
  const counted = [...executions].filter((execution) => execution.recordsProcessed !== null).reverse();
  if (counted.length === 0)
    return <p class="dim panel-body">No execution reported a number of records: the job returned none.</p>;
  const most = niceCeiling(Math.max(1, ...counted.map((execution) => execution.recordsProcessed ?? 0)));
  const y = linear([0, most], [HEIGHT - BOTTOM, 8]);
  return (
    <ChartFrame
      title={`Records of the last ${plural(counted.length, "execution")}`}
      columns={["Execution", "Started", "Outcome", "Records"]}
      rows={counted.map((execution) => [
        `#${execution.id}`,
        full(Date.parse(execution.startedAt), zone.value),
        statusView(executionStatus(execution)).word,
        integer(execution.recordsProcessed ?? 0),
      ])}
      width={WIDTH}
    >
      {(width) => (
        <svg
          class="plot"
          viewBox={`0 0 ${width} ${HEIGHT}`}
          role="img"
          aria-label={`Records per execution, at most ${compact(most)}`}
        >
          <ValueAxis ticks={[0, most / 2, most]} y={y} left={LEFT} right={width} write={compact} />
          {counted.map((execution, index) => {
            const step = Math.min(BROADEST, (width - LEFT) / counted.length);
            const top = y(execution.recordsProcessed ?? 0);
            return (
              <rect
                key={execution.id}
                class="dot fill-active"
                x={width - (counted.length - index) * step}
                y={top}
                width={Math.max(1, step - 2)}
                height={y(0) - top}
                onClick={() => navigate(paths.execution(execution.id))}
              >
                <title>{`#${execution.id}: ${plural(execution.recordsProcessed ?? 0, "record")}`}</title>
              </rect>
            );
          })}
          <text class="axis" x={width} y={HEIGHT - 4} text-anchor="end">
            newest
          </text>
        </svg>
      )}
    </ChartFrame>
  );
}
