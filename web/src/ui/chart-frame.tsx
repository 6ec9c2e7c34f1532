import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Tone } from "../lib/status";
import { Icon } from "./icon";
import { useWidth } from "./use-width";

/** No drawing is made for less room than this. */
const NARROWEST = 260;

/** A colour of charts: the tones of states, and one for what sleeps. */
export type Look = Tone | "asleep";

interface ChartFrameProps {
  title: string;
  /** The same data as rows, for those who cannot or do not want to read the drawing. */
  columns: readonly string[];
  rows: readonly (readonly string[])[];
  /**
   * The units that the drawing is wide where there is room; in a narrower place it has as many as there are pixels, so
   * that words stay legible.
   */
  width?: number;
  /** What is drawn in which colour, where there are several. */
  legend?: readonly LegendEntry[];
  children: ComponentChildren | ((width: number) => ComponentChildren);
}

export interface LegendEntry {
  readonly name: string;
  readonly look: Look;
}

/** A chart with its table view. */
export function ChartFrame({ title, columns, rows, width: widest = 0, legend = [], children }: ChartFrameProps) {
  const [table, setTable] = useState(false);
  const { ref, width } = useWidth<HTMLElement>();
  return (
    <figure ref={ref} class="chart">
      <figcaption>
        <span>{title}</span>
        {legend.length > 1 && (
          <span class="legend">
            {legend.map(({ name, look }) => (
              <span key={name} class={`legend-entry legend-${look}`}>
                {name.toLowerCase()}
              </span>
            ))}
          </span>
        )}
        <button
          type="button"
          class="icon-button"
          aria-pressed={table}
          title={table ? "Show the chart" : "Show as a table"}
          aria-label={`${title}: ${table ? "show the chart" : "show as a table"}`}
          onClick={() => setTable(!table)}
        >
          <Icon name="table" />
        </button>
      </figcaption>
      {table ? (
        <div class="chart-table" tabIndex={0}>
          <table class="mini-table">
            <thead>
              <tr>
                {columns.map((column) => (
                  <th key={column}>{column}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, index) => (
                <tr key={index}>
                  {row.map((cell, place) => (
                    <td key={place}>{cell}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : typeof children === "function" ? (
        children(width === 0 ? widest : Math.min(widest, Math.max(NARROWEST, width)))
      ) : (
        children
      )}
    </figure>
  );
}

interface ValueAxisProps {
  ticks: readonly number[];
  /** Where a value lies. */
  y: (value: number) => number;
  /** Where the lines begin, with the figures before them, and where they end. */
  left: number;
  right: number;
  write: (value: number) => string;
}

/** Lines across a drawing at round values, each with its figure at the left. */
export function ValueAxis({ ticks, y, left, right, write }: ValueAxisProps) {
  return (
    <>
      {ticks.map((tick) => (
        <g key={tick}>
          <line class="grid" x1={left} x2={right} y1={y(tick)} y2={y(tick)} />
          <text class="axis" x={left - 6} y={y(tick) + 4} text-anchor="end">
            {write(tick)}
          </text>
        </g>
      ))}
    </>
  );
}
