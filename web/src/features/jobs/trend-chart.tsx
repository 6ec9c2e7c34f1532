import { duration, full, shortDay } from "../../lib/time";
import { axisTicks, linear, logarithmic, logTicks } from "../../model/chart";
import { zone } from "../../state/prefs";
import { ChartFrame, ValueAxis } from "../../ui/chart-frame";

const WIDTH = 640;
const HEIGHT = 150;
const LEFT = 52;
const BOTTOM = 20;
const TOP = 22;
const RIGHT = 12;
/** A duration of zero has no place on a logarithmic axis. */
const LEAST = 0.001;

export interface TrendPoint {
  readonly at: string;
  readonly p50: number | null;
  readonly p95: number | null;
}

/** Something that may explain why the line bends. */
export interface Mark {
  readonly at: number;
  readonly text: string;
}

interface TrendChartProps {
  title: string;
  points: readonly TrendPoint[];
  marks: readonly Mark[];
  from: number;
  to: number;
}

const LINES = [
  { name: "p95", look: "warn" },
  { name: "p50", look: "active" },
] as const;

/** The median and the 95th percentile of a job's durations day by day, with marks where something was changed. */
export function TrendChart({ title, points, marks, from, to }: TrendChartProps) {
  const ended = points.filter((point) => point.p50 !== null && point.p95 !== null);
  if (ended.length === 0) return <p class="dim panel-body">The chart shows once an execution has ended.</p>;
  const values = ended.flatMap(({ p50, p95 }) => [Math.max(LEAST, p50 ?? 0), Math.max(LEAST, p95 ?? 0)]);
  const range: [number, number] = [Math.min(...values) * 0.7, Math.max(...values) * 1.4];
  const y = logarithmic(range, [HEIGHT - BOTTOM, TOP]);
  return (
    <ChartFrame
      title={title}
      columns={["From", "p50", "p95"]}
      rows={ended.map(({ at, p50, p95 }) => [full(Date.parse(at), zone.value), duration(p50 ?? 0), duration(p95 ?? 0)])}
      width={WIDTH}
      legend={LINES}
    >
      {(width) => {
        const x = linear([from, to], [LEFT, width - RIGHT]);
        return (
          <svg class="plot" viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={title}>
            <ValueAxis ticks={logTicks(...range)} y={y} left={LEFT} right={width - RIGHT} write={duration} />
            {LINES.map(({ name, look }) => (
              <g key={name}>
                <polyline
                  class={`trend trend-${look}`}
                  points={ended
                    .map((point) => `${x(Date.parse(point.at))},${y(Math.max(LEAST, point[name] ?? 0))}`)
                    .join(" ")}
                />
                {ended.map((point) => (
                  <circle
                    key={point.at}
                    class={`fill-${look}`}
                    cx={x(Date.parse(point.at))}
                    cy={y(Math.max(LEAST, point[name] ?? 0))}
                    r={2.5}
                  >
                    <title>{`${name} ${duration(point[name] ?? 0)}, ${full(Date.parse(point.at), zone.value)}`}</title>
                  </circle>
                ))}
              </g>
            ))}
            {marks.map(({ at, text }) => (
              <g key={`${at} ${text}`} class="change-mark">
                <line x1={x(at)} x2={x(at)} y1={TOP} y2={HEIGHT - BOTTOM} />
                <title>{text}</title>
              </g>
            ))}
            {axisTicks(from, to).map((tick) => (
              <text key={tick} class="axis" x={x(tick)} y={HEIGHT - 4} text-anchor="middle">
                {shortDay(tick, zone.value)}
              </text>
            ))}
          </svg>
        );
      }}
    </ChartFrame>
  );
}
