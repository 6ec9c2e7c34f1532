/** Which columns of a table have room. Pure. */

export interface ColumnSize {
  readonly key: string;
  /** The least width in pixels at which the column is legible, its padding included. */
  readonly width: number;
  /** Its share of the width that is left; 0 unless given. */
  readonly grow?: number;
  /** Columns of the highest rank are left out first when there is no room; rank 0 always stays. */
  readonly rank: number;
}

/** Below this many pixels a table becomes cards, with any columns. */
export const CARDS_BELOW = 600;

/**
 * The columns that fit, with their widths in pixels; null = cards. `hidden` are those that the reader does not want.
 */
export function fitColumns(
  columns: readonly ColumnSize[],
  available: number,
  hidden: ReadonlySet<string> = new Set(),
): ReadonlyMap<string, number> | null {
  if (available < CARDS_BELOW) return null;
  let shown = columns.filter((column) => column.rank === 0 || !hidden.has(column.key));
  while (widthOf(shown) > available) {
    const rank = Math.max(...shown.map((column) => column.rank));
    if (rank === 0) return null;
    // Of columns of one rank the last one goes first.
    const out = shown.findLastIndex((column) => column.rank === rank);
    shown = shown.toSpliced(out, 1);
  }
  const spare = available - widthOf(shown);
  const shares = shown.reduce((sum, column) => sum + (column.grow ?? 0), 0);
  return new Map(
    shown.map((column) => [
      column.key,
      column.width + (shares === 0 ? 0 : Math.floor((spare * (column.grow ?? 0)) / shares)),
    ]),
  );
}

function widthOf(columns: readonly ColumnSize[]): number {
  return columns.reduce((sum, column) => sum + column.width, 0);
}

/** Columns in which no row says anything go first where there is no room, and take none that is left. */
export function emptyFirst<Column extends ColumnSize>(
  columns: readonly Column[],
  empty: (column: Column) => boolean,
): readonly Column[] {
  const last = Math.max(...columns.map(({ rank }) => rank));
  return columns.map((column) =>
    column.rank > 0 && empty(column) ? { ...column, rank: column.rank + last, grow: 0 } : column,
  );
}
