import { type Bucket, linear, niceCeiling } from "../lib/chart";
import { compact, integer } from "../lib/format";
import { full, shortClock, shortDay } from "../lib/time";
import { axisTicks } from "../model/timeline";
import { zone } from "../state/prefs";
import { ChartFrame } from "./chart-frame";

const WIDTH = 640;
const HEIGHT = 120;
const LEFT = 40;
const BOTTOM = 18;

interface BarsProps {
  buckets: readonly Bucket[];
  title: string;
  total: (bucket: Bucket) => number;
  part?: (bucket: Bucket) => number;
}

function Bars({ buckets, title, total, part }: BarsProps) {
  const top = niceCeiling(Math.max(1, ...buckets.map(total)));
  const y = linear([0, top], [HEIGHT - BOTTOM, 6]);
  const width = (WIDTH - LEFT) / Math.max(1, buckets.length);
  return (
    <ChartFrame
      title={title}
      columns={["From", "Executions", "Failed", "Records"]}
      rows={buckets.map((bucket) => [full(Date.parse(bucket.at), zone.value), integer(bucket.count), integer(bucket.failures), integer(bucket.records)])}
    >
      <svg class="plot" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${title}: at most ${compact(top)} at once`}>
        {[0, top / 2, top].map((tick) => (
          <g key={tick}>
            <line class="grid" x1={LEFT} x2={WIDTH} y1={y(tick)} y2={y(tick)} />
            <text class="axis" x={LEFT - 6} y={y(tick) + 4} text-anchor="end">
              {compact(tick)}
            </text>
          </g>
        ))}
        {buckets.map((bucket, index) => {
          const [all, bad] = [total(bucket), part?.(bucket) ?? 0];
          const x = LEFT + index * width;
          return (
            <g key={bucket.at}>
              <rect class={part === undefined ? "fill-active" : "fill-good"} x={x} width={Math.max(0.5, width - 1)} y={y(all)} height={y(0) - y(all)} />
              <rect class="fill-bad" x={x} width={Math.max(0.5, width - 1)} y={y(bad)} height={y(0) - y(bad)} />
              <rect class="hit" x={x} width={width} y={0} height={HEIGHT}>
                <title>{`${full(Date.parse(bucket.at), zone.value)}: ${integer(all)}${bad > 0 ? `, ${integer(bad)} failed` : ""}`}</title>
              </rect>
            </g>
          );
        })}
        {axisOf(buckets).map(({ x, text }) => (
          <text key={x} class="axis" x={x} y={HEIGHT - 3} text-anchor="middle">
            {text}
          </text>
        ))}
      </svg>
    </ChartFrame>
  );
}

/** Room for half of a mark at either end of the axis. */
const MARGIN = 18;

/** Marks below the axis at round times: clock times within two days, days beyond. */
function axisOf(buckets: readonly Bucket[]): readonly { readonly x: number; readonly text: string }[] {
  const [first, second] = buckets;
  const last = buckets.at(-1);
  if (first === undefined || second === undefined || last === undefined) return [];
  const [from, step] = [Date.parse(first.at), Date.parse(second.at) - Date.parse(first.at)];
  const to = Date.parse(last.at) + step;
  const x = linear([from, to], [LEFT, WIDTH]);
  const write = to - from > 2 * 86_400_000 ? shortDay : shortClock;
  return axisTicks(from, to)
    .map((tick) => ({ x: x(tick), text: write(tick, zone.value) }))
    .filter((mark) => mark.x > LEFT + MARGIN && mark.x < WIDTH - MARGIN);
}

interface OutcomeChartsProps {
  buckets: readonly Bucket[];
  /** Which executions these are: "last 24 h". */
  of: string;
}

/** Executions by outcome, and records, over time. */
export function OutcomeCharts({ buckets, of }: OutcomeChartsProps) {
  return (
    <div class="columns">
      <section class="panel" aria-label="Executions over time">
        <Bars buckets={buckets} title={`Executions, ${of}; failed ones red`} total={(bucket) => bucket.count} part={(bucket) => bucket.failures} />
      </section>
      <section class="panel" aria-label="Records over time">
        <Bars buckets={buckets} title={`Records processed, ${of}`} total={(bucket) => bucket.records} />
      </section>
    </div>
  );
}
