import { useComputed } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import { integer, plural } from "../../lib/format";
import { paths } from "../../lib/paths";
import { skipReason } from "../../lib/skip-reasons";
import { moment, relative, shortClock, shortDay } from "../../lib/time";
import { now } from "../../live/clock";
import { axisTicks } from "../../model/chart";
import { zone } from "../../state/prefs";
import { navigate, setParams } from "../../state/route";
import { ChartFrame } from "../../ui/chart-frame";
import { useFold } from "../../ui/few";
import { Icon } from "../../ui/icon";
import { useWidth } from "../../ui/use-width";
import {
  type Bar,
  type Block,
  blocksOf,
  type Frame,
  foldedRow,
  type Planned,
  type ServerRow,
  type SkipMark,
  type TimelineRow,
  timelineRows,
} from "./model";
import { aheadOfHours, type Brushed, brushedBy, type Chosen, paramsOf, RANGES, windowAt } from "./window";

const ROW = 24;
const BAR = 12;
/** So many rows are shown without folding. */
const FEW = 14;
/** So many lines are shown on a phone before the others are unfolded: what needs a person comes first. */
const FEW_ON_PHONE = 8;
/** A label of the axis this close to "now", in pixels, gives way to it. */
const NOW_ROOM = 34;
/** A label of the axis needs so many pixels; in a narrow picture some are left out. */
const LABEL_ROOM = 44;
/** The picture moves on this often, in milliseconds. */
const STEP = 5_000;
const DAY = 86_400_000;
/** So many pixels are a brush; fewer are a click. */
const BRUSH = 6;

interface TimelineProps {
  rows: readonly ServerRow[];
  /** Executions before are left out. */
  since: string | null;
  totalRows: number;
  planned: readonly Planned[];
  /** Until when all that is planned is drawn, in milliseconds; null if that is the whole window. */
  until: number | null;
  /** The plan has at most one occurrence of a task in so many milliseconds. */
  apart: number;
  chosen: Chosen;
  taskName: string | null;
}

/** What ran, what was skipped, and what is planned: what needs a person first. Drawing a span in it zooms there. */
export function Timeline({ rows: known, since, totalRows, planned, until, apart, chosen, taskName }: TimelineProps) {
  const { ref, width } = useWidth<HTMLDivElement>();
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const time = useComputed(() => Math.floor(now.value / STEP) * STEP).value;
  const frame: Frame = { ...windowAt(chosen, time), now: time, width: Math.max(1, width) };
  const rows = timelineRows(known, planned, frame, apart);
  const blocks = blocksOf(rows, FEW);
  const all = blocks.flatMap((block) => linesOf(block, open));
  const { shown: lines, more } = useFold(all, FEW_ON_PHONE);
  const toggle = (group: string) => (): void =>
    setOpen((before) =>
      before.has(group) ? new Set([...before].filter((each) => each !== group)) : new Set([...before, group]),
    );
  return (
    <ChartFrame
      title={`${plural(rows.length, "row")}: ${titleOf(chosen, since, until, frame)}${totalRows > known.length ? `; ${integer(totalRows - known.length)} rows with fewer executions are left out` : ""}`}
      columns={["Task", "Executions", "Failed", "Skipped", "Next"]}
      rows={rows.map((row) => [row.name, String(row.count), String(row.failed), skipsText(row), nextText(row, frame)])}
    >
      <div class={taskName === null ? "timeline" : "timeline alone"}>
        <ul class="timeline-names">
          {lines.map((line) => (
            <Name key={line.key} line={line} onToggle={toggle(line.row.name)} />
          ))}
        </ul>
        <div ref={ref} class="timeline-plot">
          {width > 0 && <Plot lines={lines} frame={frame} plannedUntil={until} />}
        </div>
      </div>
      {more}
    </ChartFrame>
  );
}

/** A line of the picture: a row, or a group that is folded or unfolded. */
interface Line {
  readonly key: string;
  readonly row: TimelineRow;
  /** How many rows the group has, and whether they are shown below; null for a row. */
  readonly fold: { readonly count: number; readonly open: boolean } | null;
}

function linesOf(block: Block, open: ReadonlySet<string>): readonly Line[] {
  const rows = block.rows.map((row): Line => ({ key: `${row.isTask ? "task" : "job"} ${row.name}`, row, fold: null }));
  if (block.group === null) return rows;
  const isOpen = open.has(block.group);
  const head: Line = {
    key: `group ${block.group}`,
    row: isOpen ? { ...foldedRow(block), bars: [], planned: [], skips: [] } : foldedRow(block),
    fold: { count: rows.length, open: isOpen },
  };
  return isOpen ? [head, ...rows] : [head];
}

function titleOf(chosen: Chosen, since: string | null, until: number | null, frame: Frame): string {
  const written = (at: number): string => moment(at, frame.now, zone.value);
  const from = since === null ? null : `executions since ${written(Date.parse(since))}`;
  if (chosen.kind === "fixed") return from ?? `${written(chosen.from)} to ${written(chosen.to)}`;
  const hours = RANGES[chosen.range];
  const ahead = aheadOfHours(hours) / 3_600_000;
  const plan =
    until !== null
      ? `the plan until ${shortClock(until, zone.value)}`
      : ahead === 1
        ? "next hour"
        : `next ${lengthOf(ahead)}`;
  return `${from ?? `last ${lengthOf(hours)}`} and ${plan}`;
}

function lengthOf(hours: number): string {
  return hours > 24 && hours % 24 === 0 ? `${hours / 24} d` : `${hours} h`;
}

function Name({ line: { row, fold }, onToggle }: { line: Line; onToggle: () => void }) {
  if (fold !== null) {
    return (
      <li>
        <button type="button" class="link-button timeline-fold" aria-expanded={fold.open} onClick={onToggle}>
          <Icon name={fold.open ? "down" : "right"} />
          <span>{row.name}</span> <span class="dim num">{fold.count}</span>
        </button>
      </li>
    );
  }
  const word = row.isFailing ? "fails" : row.isLate ? "late" : null;
  return (
    <li
      title={
        word === null
          ? row.name
          : `${row.name}: ${row.isFailing ? "its newest execution failed" : "it should have started and did not"}`
      }
    >
      {word !== null && <span class={`timeline-word ${row.isFailing ? "tone-bad" : "tone-warn"}`}>{word}</span>}{" "}
      <a href={row.isTask ? paths.task(row.name) : paths.logOfJob(row.name)}>{row.name}</a>
    </li>
  );
}

function skipsText({ skips }: TimelineRow): string {
  if (skips.length === 0) return "–";
  const counts = new Map<string, number>();
  for (const { reason, count } of skips) counts.set(reason, (counts.get(reason) ?? 0) + count);
  return [...counts].map(([reason, count]) => `${integer(count)}: ${skipReason(reason)}`).join("; ");
}

function nextText(row: TimelineRow, frame: Frame): string {
  const first = row.planned[0];
  if (first === undefined) return "–";
  return relative(frame.from + ((first.x + first.width / 2) / frame.width) * (frame.to - frame.from), frame.now);
}

interface PlotProps {
  lines: readonly Line[];
  frame: Frame;
  plannedUntil: number | null;
}

function Plot({ lines, frame, plannedUntil }: PlotProps) {
  const scale = frame.width / (frame.to - frame.from);
  const rowsHeight = lines.length * ROW;
  const height = rowsHeight + 20;
  const nowX = (frame.now - frame.from) * scale;
  const futureX = Math.max(0, nowX);
  const endX =
    plannedUntil === null ? frame.width : Math.min(frame.width, Math.max(nowX, (plannedUntil - frame.from) * scale));
  const brush = useBrush(frame);
  const days = frame.to - frame.from > 2 * DAY;
  const ticks = axisTicks(frame.from, frame.to);
  const every = Math.max(1, Math.ceil(LABEL_ROOM / (((ticks[1] ?? frame.to) - (ticks[0] ?? frame.from)) * scale)));
  return (
    <>
      <svg
        width={frame.width}
        height={height}
        role="img"
        aria-label={`${plural(lines.length, "row")}; the table view has the numbers`}
        {...brush.handlers}
      >
        {futureX < frame.width && (
          <rect class="timeline-future" x={futureX} y={0} width={frame.width - futureX} height={rowsHeight} />
        )}
        {ticks.map((tick, index) => (
          <g key={tick} class={Math.abs(tick - frame.now) * scale < NOW_ROOM ? "by-now" : undefined}>
            <line
              class="grid"
              x1={(tick - frame.from) * scale}
              x2={(tick - frame.from) * scale}
              y1={0}
              y2={rowsHeight}
            />
            {index % every === 0 && (
              <text class="axis" x={(tick - frame.from) * scale} y={height - 4} text-anchor="middle">
                {days ? shortDay(tick, zone.value) : shortClock(tick, zone.value)}
              </text>
            )}
          </g>
        ))}
        {endX < frame.width && (
          <rect class="beyond-plan" x={endX} y={0} width={frame.width - endX} height={rowsHeight}>
            <title>So many occurrences are planned that this part is not drawn yet</title>
          </rect>
        )}
        {lines.map((line, index) => (
          <g key={line.key} transform={`translate(0 ${index * ROW})`}>
            <line class="grid" x1={0} x2={frame.width} y1={ROW - 0.5} y2={ROW - 0.5} />
            {line.row.planned.map(({ x, width }) => (
              <rect key={`p${x}`} class="planned" x={x} y={(ROW - BAR) / 2 + 0.5} width={width} height={BAR - 1} />
            ))}
            {line.row.bars.map((bar) => (
              <BarView key={bar.id} bar={bar} name={line.row.name} />
            ))}
            {line.row.skips.map((skip) => (
              <SkipView key={`s${skip.name} ${skip.first}`} skip={skip} />
            ))}
          </g>
        ))}
        {nowX >= 0 && nowX <= frame.width && (
          <>
            <line class="now-line" x1={nowX} x2={nowX} y1={0} y2={rowsHeight} />
            <text class="axis now-text" x={nowX} y={height - 4} text-anchor="middle">
              now
            </text>
          </>
        )}
        {brush.area !== null && (
          <rect
            class="timeline-brush"
            x={brush.area.x}
            y={0}
            width={Math.max(2, brush.area.width)}
            height={rowsHeight}
          />
        )}
      </svg>
      <div
        class="timeline-keys"
        role="slider"
        tabIndex={0}
        aria-label="Span to zoom to: arrows move, Shift and arrows draw, Enter zooms, Escape ends"
        aria-valuemin={frame.from}
        aria-valuemax={frame.to}
        aria-valuenow={Math.round(brush.at)}
        aria-valuetext={brush.words}
        onKeyDown={brush.onKey}
        onBlur={brush.end}
      />
    </>
  );
}

/** Drawing a span with the mouse, a pen or keys zooms there; a finger scrolls the page. */
function useBrush(frame: Frame) {
  const begin = useRef<number | null>(null);
  const [drawn, setArea] = useState<{ readonly x: number; readonly width: number } | null>(null);
  const [keys, setKeys] = useState<Brushed | null>(null);
  const byKeys =
    keys === null
      ? null
      : { x: Math.min(keys.from, keys.to) * frame.width, width: Math.abs(keys.to - keys.from) * frame.width };
  const area = drawn ?? byKeys;
  const xOf = (event: PointerEvent & { currentTarget: SVGSVGElement }): number =>
    event.clientX - event.currentTarget.getBoundingClientRect().left;
  const timeAt = (x: number): number => frame.from + (x / frame.width) * (frame.to - frame.from);
  const end = (): void => {
    begin.current = null;
    setArea(null);
    setKeys(null);
  };
  const written = (at: number): string => moment(at, frame.now, zone.value);
  return {
    area,
    end,
    at: timeAt((keys?.to ?? 0.5) * frame.width),
    words:
      area === null || area.width === 0
        ? written(timeAt(area?.x ?? frame.width / 2))
        : `${written(timeAt(area.x))} to ${written(timeAt(area.x + area.width))}`,
    onKey: (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const next = brushedBy(event.key, event.shiftKey, keys);
      if (next !== null) setKeys(next);
      else if (event.key === "Escape" && keys !== null) setKeys(null);
      else if (event.key === "Enter" && byKeys !== null && byKeys.width >= BRUSH) {
        setParams(paramsOf(timeAt(byKeys.x), timeAt(byKeys.x + byKeys.width)));
        setKeys(null);
      } else return;
      event.preventDefault();
      event.stopPropagation();
    },
    handlers: {
      onPointerDown: (event: PointerEvent & { currentTarget: SVGSVGElement }): void => {
        if (event.button === 0 && event.pointerType !== "touch") begin.current = xOf(event);
      },
      onPointerMove: (event: PointerEvent & { currentTarget: SVGSVGElement }): void => {
        const from = begin.current;
        if (from === null) return;
        const to = Math.min(frame.width, Math.max(0, xOf(event)));
        if (drawn === null && Math.abs(to - from) < BRUSH) return;
        // From now on the picture has the pointer: a bar below it is not clicked.
        event.currentTarget.setPointerCapture(event.pointerId);
        setArea({ x: Math.min(from, to), width: Math.abs(to - from) });
      },
      onPointerUp: (): void => {
        if (drawn !== null && drawn.width >= BRUSH) setParams(paramsOf(timeAt(drawn.x), timeAt(drawn.x + drawn.width)));
        end();
      },
      onPointerCancel: end,
    },
  };
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
        <rect
          class="fill-bad"
          x={bar.x}
          y={(ROW + BAR) / 2 - redShare(bar)}
          width={bar.width}
          height={redShare(bar)}
          rx={2}
        />
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

/**
 * A stretch of skipped occurrences: a mark above its line, with the reason; it opens the run that stood in the way, or
 * else the task's list.
 */
function SkipView({ skip }: { skip: SkipMark }) {
  const missed = skip.reason === "MISSED";
  return (
    <g
      class="timeline-bar"
      onClick={() => navigate(skip.runId === null ? paths.task(skip.name) : paths.run(skip.runId))}
    >
      <rect
        class={missed ? "timeline-skip missed" : "timeline-skip"}
        x={skip.x}
        y={1.5}
        width={skip.width}
        height={4}
      />
      <title>{`${skip.name}: ${plural(skip.count, "occurrence")} ${missed ? "missed" : "skipped"} since ${shortClock(skip.first, zone.value)}: ${skipReason(skip.reason)}`}</title>
    </g>
  );
}
