import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "./icon";

interface ChartFrameProps {
  title: string;
  /** The same data as rows, for those who cannot or do not want to read the drawing. */
  columns: readonly string[];
  rows: readonly (readonly string[])[];
  children: ComponentChildren;
}

/** A chart with its table view. */
export function ChartFrame({ title, columns, rows, children }: ChartFrameProps) {
  const [table, setTable] = useState(false);
  return (
    <figure class="chart">
      <figcaption>
        <span>{title}</span>
        <button type="button" class="icon-button" aria-pressed={table} title={table ? "Show the chart" : "Show as a table"} aria-label={`${title}: ${table ? "show the chart" : "show as a table"}`} onClick={() => setTable(!table)}>
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
      ) : (
        children
      )}
    </figure>
  );
}
