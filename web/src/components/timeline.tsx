import { useComputed } from "@preact/signals";
import { useState } from "preact/hooks";
import type { ExecutionRow } from "../graphql/fragments";
import { plural } from "../lib/format";
import { paths } from "../lib/paths";
import { relative, shortClock } from "../lib/time";
import { now } from "../live/clock";
import { axisTicks, type Bar, type Frame, type Planned, timelineRows, type TimelineRow } from "../model/timeline";
import { zone } from "../state/prefs";
import { navigate } from "../state/route";
import { ChartFrame } from "./chart-frame";
import { useWidth } from "./use-width";

const ROW = 24;
const BAR = 12;
const FEW = 14;
const FUTURE = 3_600_000;
/** A label of the axis this close to "now", in pixels, gives way to it. */
const NOW_ROOM = 34;
/** The picture moves on this often, in milliseconds. */
const STEP = 5_000;

interface TimelineProps {
  executions: readonly ExecutionRow[];
  planned: readonly Planned[];
  /** Until when all that is planned is drawn, in milliseconds; null if that is the whole hour. */
  plannedUntil: number | null;
  /** The plan has at most one occurrence of a task in so many milliseconds. */
  apart: number;
  /** Hours back. */
  hours: number;
  /** Whether older executions of the span are missing. */
  cut: boolean;
}

/** What ran in the last hours and what is planned for the next one. */
export function Timeline({ executions, planned, plannedUntil, apart, hours, cut }: TimelineProps) {
  const { ref, width } = useWidth<HTMLDivElement>();
  const [all, setAll] = useState(false);
  const time = useComputed(() => Math.floor(now.value / STEP) * STEP).value;
  const frame: Frame = { from: time - hours * 3_600_000, to: time + FUTURE, now: time, width: Math.max(1, width) };
  const rows = timelineRows(executions, planned, frame, apart);
  const shown = all ? rows : rows.slice(0, FEW);
  return (
    <ChartFrame
      title={`${plural(rows.length, "row")}: ${cut ? "the newest executions" : `last ${hours} h`} and ${plannedUntil === null ? "next hour" : `the plan until ${shortClock(plannedUntil, zone.value)}`}`}
      columns={["Task", "Executions", "Failed", "Next"]}
      rows={rows.map((row) => [row.name, String(row.count), String(row.failed), nextText(row, frame)])}
    >
      <div class="timeline">
        <ul class="timeline-names">
          {shown.map((row) => (
            <li key={row.name} title={row.name}>
              {row.isTask ? <a href={paths.task(row.name)}>{row.name}</a> : <a href={paths.logOfJob(row.name)}>{row.name}</a>}
            </li>
          ))}
        </ul>
        <div ref={ref} class="timeline-plot">
          {width > 0 && <Plot rows={shown} frame={frame} plannedUntil={plannedUntil} />}
        </div>
      </div>
      {rows.length > FEW && (
        <button type="button" class="link-button" onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show all ${rows.length}`}
        </button>
      )}
    </ChartFrame>
  );
}

function nextText(row: TimelineRow, frame: Frame): string {
  const first = row.planned[0];
  if (first === undefined) return "–";
  return relative(frame.from + ((first.x + first.width / 2) / frame.width) * (frame.to - frame.from), frame.now);
}

function Plot({ rows, frame, plannedUntil }: { rows: readonly TimelineRow[]; frame: Frame; plannedUntil: number | null }) {
  const scale = frame.width / (frame.to - frame.from);
  const height = rows.length * ROW + 20;
  const nowX = (frame.now - frame.from) * scale;
  const endX = plannedUntil === null ? frame.width : Math.min(frame.width, Math.max(nowX, (plannedUntil - frame.from) * scale));
  return (
    <svg width={frame.width} height={height} role="img" aria-label={`${plural(rows.length, "row")}; the table view has the numbers`}>
      {axisTicks(frame.from, frame.to).map((tick) => (
        <g key={tick} class={Math.abs(tick - frame.now) * scale < NOW_ROOM ? "by-now" : undefined}>
          <line class="grid" x1={(tick - frame.from) * scale} x2={(tick - frame.from) * scale} y1={0} y2={rows.length * ROW} />
          <text class="axis" x={(tick - frame.from) * scale} y={height - 4} text-anchor="middle">
            {shortClock(tick, zone.value)}
          </text>
        </g>
      ))}
      {endX < frame.width && (
        <rect class="beyond-plan" x={endX} y={0} width={frame.width - endX} height={rows.length * ROW}>
          <title>So many occurrences are planned that this part is not drawn yet</title>
        </rect>
      )}
      {rows.map((row, index) => (
        <g key={row.name} transform={`translate(0 ${index * ROW})`}>
          <line class="grid" x1={0} x2={frame.width} y1={ROW - 0.5} y2={ROW - 0.5} />
          {row.planned.map(({ x, width }) => (
            <rect key={`p${x}`} class="planned" x={x} y={(ROW - BAR) / 2 + 0.5} width={width} height={BAR - 1} />
          ))}
          {row.bars.map((bar) => (
            <BarView key={bar.id} bar={bar} name={row.name} />
          ))}
        </g>
      ))}
      <line class="now-line" x1={nowX} x2={nowX} y1={0} y2={rows.length * ROW} />
      <text class="axis now-text" x={nowX} y={height - 4} text-anchor="middle">
        now
      </text>
    </svg>
  );
}

/** A count is written into a bar that has room for it. */
const ROOM = 22;

/** How much of a merged bar is red: the share of failures, and never too little to be seen. */
function redShare(bar: Bar): number {
  return Math.max(3, (bar.failed / bar.count) * BAR);
}

function BarView({ bar, name }: { bar: Bar; name: string }) {
  const failed = bar.failed > 0 ? `, ${bar.failed} failed` : "";
  return (
    <g class="timeline-bar" onClick={() => navigate(paths.execution(bar.id))}>
      <rect class={`fill-${bar.tone}`} x={bar.x} y={(ROW - BAR) / 2} width={bar.width} height={BAR} rx={2} />
      {bar.failed > 0 && bar.failed < bar.count && (
        <rect class="fill-bad" x={bar.x} y={(ROW + BAR) / 2 - redShare(bar)} width={bar.width} height={redShare(bar)} rx={2} />
      )}
      {bar.count > 1 && bar.width >= ROOM && (
        <text class="bar-count" x={bar.x + bar.width / 2} y={ROW / 2 + 3.5} text-anchor="middle">
          {bar.count}
        </text>
      )}
      <title>{`${name}: ${plural(bar.count, "execution")}${failed}; opens #${bar.id}`}</title>
    </g>
  );
}
