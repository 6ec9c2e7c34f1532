import type { ExecutionRow } from "../../api/fragments";
import { plural } from "../../lib/format";
import { paths } from "../../lib/paths";
import { executionStatus, statusView } from "../../lib/status";
import { quantile } from "../../lib/strip";
import { duration, full, moment } from "../../lib/time";
import { serverNow } from "../../live/clock";
import { linear, logarithmic, logTicks } from "../../model/chart";
import { zone } from "../../state/prefs";
import { navigate } from "../../state/route";
import { ChartFrame, ValueAxis } from "../../ui/chart-frame";

const WIDTH = 640;
const HEIGHT = 170;
const LEFT = 52;
const BOTTOM = 20;
/** Room for the names of the marks. */
const RIGHT = 78;

interface Point {
  readonly execution: ExecutionRow;
  readonly at: number;
  readonly seconds: number;
}

function pointsOf(executions: readonly ExecutionRow[]): readonly Point[] {
  return executions.flatMap((execution) =>
    execution.duration === null
      ? []
      : [{ execution, at: Date.parse(execution.startedAt), seconds: Math.max(0.001, execution.duration) }],
  );
}

/** Durations of the last executions on a logarithmic axis, with their median and 95th percentile. */
export function DurationChart({ executions }: { executions: readonly ExecutionRow[] }) {
  const points = pointsOf(executions);
  const first = points[0];
  if (points.length < 2 || first === undefined)
    return <p class="dim panel-body">The chart shows once two executions have ended.</p>;
  const seconds = points.map((point) => point.seconds);
  const times = points.map((point) => point.at);
  const span: [number, number] = [Math.min(...times), Math.max(...times)];
  const range: [number, number] = [Math.min(...seconds) * 0.7, Math.max(...seconds) * 1.4];
  const y = logarithmic(range, [HEIGHT - BOTTOM, 8]);
  const marks = (
    [
      ["p50", 0.5],
      ["p95", 0.95],
    ] as const
  ).map(([name, q]) => ({ name, value: quantile(seconds, q) ?? 0 }));
  const [p50Y, p95Y] = marks.map(({ value }) => y(value));
  // Marks that lie close together keep their names apart.
  const apart = Math.max(0, 13 - ((p50Y ?? 0) - (p95Y ?? 0))) / 2;
  const labelY = (name: string, at: number): number => at + 4 + (name === "p50" ? apart : -apart);
  return (
    <ChartFrame
      title={`Durations of the last ${plural(points.length, "execution")}`}
      columns={["Execution", "Started", "Outcome", "Duration"]}
      rows={points.map(({ execution, seconds: value }) => [
        `#${execution.id}`,
        full(Date.parse(execution.startedAt), zone.value),
        statusView(executionStatus(execution)).word,
        duration(value),
      ])}
      width={WIDTH}
    >
      {(width) => (
        <svg
          class="plot"
          viewBox={`0 0 ${width} ${HEIGHT}`}
          role="img"
          aria-label={`Durations from ${duration(Math.min(...seconds))} to ${duration(Math.max(...seconds))}`}
        >
          <ValueAxis ticks={logTicks(...range)} y={y} left={LEFT} right={width - RIGHT} write={duration} />
          {marks.map(({ name, value }) => (
            <g key={name}>
              <line class={`mark mark-${name}`} x1={LEFT} x2={width - RIGHT} y1={y(value)} y2={y(value)} />
              <text class="axis strong" x={width - RIGHT + 6} y={labelY(name, y(value))}>
                {name} {duration(value)}
              </text>
            </g>
          ))}
          {points.map(({ execution, at, seconds: value }) => (
            <circle
              key={execution.id}
              class={`dot fill-${statusView(executionStatus(execution)).tone}`}
              cx={linear(span, [LEFT + 4, width - RIGHT - 6])(at)}
              cy={y(value)}
              r={3.2}
              onClick={() => navigate(paths.execution(execution.id))}
            >
              <title>{`#${execution.id} ${statusView(executionStatus(execution)).word}, ${duration(value)}`}</title>
            </circle>
          ))}
          <text class="axis" x={LEFT} y={HEIGHT - 4}>
            {moment(span[0], serverNow(), zone.value)}
          </text>
          <text class="axis" x={width - RIGHT} y={HEIGHT - 4} text-anchor="end">
            {moment(span[1], serverNow(), zone.value)}
          </text>
        </svg>
      )}
    </ChartFrame>
  );
}
