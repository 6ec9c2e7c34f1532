import { useId } from "preact/hooks";
import { full, shortClock, shortDay } from "../lib/time";
import { axisTicks, linear, niceCeiling } from "../model/chart";
import { gapsOf } from "../model/gaps";
import { zone } from "../state/prefs";
import { ChartFrame, type Look, ValueAxis } from "./chart-frame";

/** Room for the figures at the left: for one character, and at least. */
const CHARACTER = 7.5;
const LEAST = 40;
const BOTTOM = 18;
/** Room for half of a mark at either end of the axis. */
const MARGIN = 18;
/** Room from one mark to the next. */
const APART = 52;

const UNKNOWN = "not counted";
/** Room for these words. */
const WORDS = 80;

/** What is drawn in one colour; the first layer stands at the bottom. */
export interface Layer {
  readonly name: string;
  readonly look: Look;
  /** One for each stretch of time. */
  readonly values: readonly number[];
}

export interface StackedBarsProps {
  title: string;
  /** When the stretches of time begin, in milliseconds, all of the same length. */
  starts: readonly number[];
  layers: readonly Layer[];
  /** What the layers together are, where there are several. */
  total?: string;
  write(value: number): string;
  /** Whether a stretch, by when it begins, is known; others are hatched, and are no zeros. */
  isKnown?: (start: number) => boolean;
  /** Whether things are counted, of which there are no halves. */
  whole?: boolean;
  /** What is drawn where there is room. */
  width: number;
  height: number;
}

/** Bars over time, of several layers, with the same figures as a table. */
export function StackedBars({
  title,
  starts,
  layers,
  total,
  write,
  isKnown = () => true,
  whole = false,
  width: widest,
  height,
}: StackedBarsProps) {
  const sums = starts.map((_, index) => layers.reduce((sum, layer) => sum + (layer.values[index] ?? 0), 0));
  const top = niceCeiling(Math.max(0, ...sums));
  const ticks = [0, top / 2, top].filter((tick) => !whole || Number.isInteger(tick));
  const left = Math.max(LEAST, 8 + CHARACTER * Math.max(...ticks.map((tick) => write(tick).length)));
  const y = linear([0, top], [height - BOTTOM, 6]);
  const unknown = starts.map((start) => !isKnown(start));
  const known = (index: number, value: number): string => (unknown[index] === true ? UNKNOWN : write(value));
  const cells = (index: number): readonly string[] => layers.map((layer) => known(index, layer.values[index] ?? 0));
  const pattern = useId();
  return (
    <ChartFrame
      title={title}
      columns={["From", ...(total === undefined ? [] : [total]), ...layers.map((layer) => layer.name)]}
      rows={starts.map((start, index) => [
        full(start, zone.value),
        ...(total === undefined ? [] : [known(index, sums[index] ?? 0)]),
        ...cells(index),
      ])}
      width={widest}
      legend={layers}
    >
      {(width) => (
        <svg
          class="plot"
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          aria-label={`${title}: at most ${write(Math.max(0, ...sums))}`}
        >
          <ValueAxis ticks={ticks} y={y} left={left} right={width} write={write} />
          {unknown.includes(true) && (
            <g class="unknown">
              <pattern id={pattern} width="8" height="8" patternUnits="userSpaceOnUse">
                <path d="M0 8L8 0" />
              </pattern>
              {gapsOf(unknown).map(([first, end]) => {
                const step = (width - left) / starts.length;
                return (
                  <g key={first}>
                    <rect
                      x={left + first * step}
                      y={6}
                      width={(end - first) * step}
                      height={height - BOTTOM - 6}
                      fill={`url(#${pattern})`}
                    />
                    {(end - first) * step > WORDS && (
                      <text class="axis" x={left + first * step + 6} y={18}>
                        {UNKNOWN}
                      </text>
                    )}
                  </g>
                );
              })}
            </g>
          )}
          {starts.map((start, index) => {
            const step = (width - left) / starts.length;
            const x = left + index * step;
            let below = 0;
            return (
              <g key={start}>
                {layers.map((layer) => {
                  const value = layer.values[index] ?? 0;
                  below += value;
                  return (
                    value > 0 && (
                      <rect
                        key={layer.name}
                        class={`fill-${layer.look}`}
                        x={x}
                        width={Math.max(0.5, step - 1)}
                        y={y(below)}
                        height={y(below - value) - y(below)}
                      />
                    )
                  );
                })}
                <rect class="hit" x={x} width={step} y={0} height={height}>
                  <title>{`${full(start, zone.value)}: ${unknown[index] === true ? UNKNOWN : layers.map((layer, place) => `${cells(index)[place]} ${layer.name.toLowerCase()}`).join(", ")}`}</title>
                </rect>
              </g>
            );
          })}
          {axisOf(starts, left, width).map(({ x, text }) => (
            <text key={x} class="axis" x={x} y={height - 3} text-anchor="middle">
              {text}
            </text>
          ))}
        </svg>
      )}
    </ChartFrame>
  );
}

/** Marks below the axis at round times: clock times within two days, days beyond. */
function axisOf(
  starts: readonly number[],
  left: number,
  width: number,
): readonly { readonly x: number; readonly text: string }[] {
  const [first, second] = starts;
  const last = starts.at(-1);
  if (first === undefined || second === undefined || last === undefined) return [];
  const to = last + second - first;
  const x = linear([first, to], [left, width]);
  const write = to - first > 2 * 86_400_000 ? shortDay : shortClock;
  const marks = axisTicks(first, to)
    .map((tick) => ({ x: x(tick), text: write(tick, zone.value) }))
    .filter((mark) => mark.x > left + MARGIN && mark.x < width - MARGIN);
  const every = Math.ceil(APART / Math.max(1, (marks[1]?.x ?? width) - (marks[0]?.x ?? 0)));
  return marks.filter((_, index) => index % every === 0);
}
