/** Which columns of a table have room. Pure. */

export interface ColumnSize {
  readonly key: string;
  /** The least width in pixels at which the column is legible, its padding included. */
  readonly width: number;
  /** Its share of the width that is left; 0 unless given. */
  readonly grow?: number;
  /** Columns of the highest rank are left out first when there is no room; rank 0 always stays. */
  readonly rank: number;
  /** Whether it has numbers: a number that is cut is another one. */
  readonly number?: boolean;
  /** Whether no row says anything in it. */
  readonly empty?: boolean;
}

/** Below this many pixels a table becomes cards, with any columns. */
export const CARDS_BELOW = 600;

/** What the content of columns takes in one line, in pixels with its padding, by their keys. */
export type Needs = ReadonlyMap<string, number>;

const UNKNOWN: Needs = new Map();
/** No column is narrower than this, however little it says. */
const LEAST = 44;
/** A column gets at most so many times its width for its content, but for the one that gets the rest. */
const MOST = 2;

/**
 * The columns that fit, with their widths in pixels; null = cards. `hidden` are those that the reader does not want.
 * Once it is known what their content takes, columns are as wide as that, and the one that grows most gets the rest.
 */
export function fitColumns(
  columns: readonly ColumnSize[],
  available: number,
  hidden: ReadonlySet<string> = new Set(),
  needs: Needs = UNKNOWN,
): ReadonlyMap<string, number> | null {
  if (available < CARDS_BELOW) return null;
  const least = ({ key, width, number = false }: ColumnSize): number => {
    const need = Math.max(LEAST, needs.get(key) ?? width);
    return number ? need : Math.min(width, need);
  };
  const widthOf = (some: readonly ColumnSize[]): number => some.reduce((sum, column) => sum + least(column), 0);
  let shown = columns.filter((column) => column.rank === 0 || !hidden.has(column.key));
  while (widthOf(shown) > available) {
    const rank = Math.max(...shown.map((column) => column.rank));
    if (rank === 0) return null;
    // Of columns of one rank the last one goes first.
    const out = shown.findLastIndex((column) => column.rank === rank);
    shown = shown.toSpliced(out, 1);
  }
  // Nothing is cut beside a column that says nothing.
  while (needs.size > 0 && shown.some(({ empty }) => empty) && wantedBy(shown, needs, least) > available) {
    shown = shown.toSpliced(
      shown.findLastIndex(({ empty }) => empty),
      1,
    );
  }
  const spare = available - widthOf(shown);
  const widths = new Map(shown.map((column) => [column.key, least(column)]));
  return needs.size === 0 ? shared(shown, widths, spare) : filled(shown, widths, spare, needs);
}

/** What the content takes at most of those columns that do not get the rest. */
function wantedBy(columns: readonly ColumnSize[], needs: Needs, least: (column: ColumnSize) => number): number {
  return columns.reduce(
    (sum, column) => sum + Math.max(least(column), Math.min(needs.get(column.key) ?? 0, MOST * column.width)),
    0,
  );
}

/** What is left is shared by those that grow. */
function shared(columns: readonly ColumnSize[], widths: Map<string, number>, spare: number): Map<string, number> {
  const shares = columns.reduce((sum, { grow = 0 }) => sum + grow, 0);
  for (const { key, grow = 0 } of columns) {
    if (shares > 0) widths.set(key, (widths.get(key) ?? 0) + Math.floor((spare * grow) / shares));
  }
  return widths;
}

/** What is left goes to the content that has too little room, and the rest of it to the column that grows most. */
function filled(
  columns: readonly ColumnSize[],
  widths: Map<string, number>,
  spare: number,
  needs: Needs,
): Map<string, number> {
  const grows = Math.max(...columns.map(({ grow = 0 }) => grow));
  const last = grows === 0 ? undefined : columns.findLast(({ grow = 0 }) => grow === grows);
  const lacks = (key: string, most: number): number =>
    Math.max(0, Math.min(needs.get(key) ?? 0, most) - (widths.get(key) ?? 0));
  const others = columns
    .filter((column) => column !== last)
    .map(({ key, width }) => [key, lacks(key, MOST * width)] as const)
    .sort(([, one], [, other]) => one - other);
  const lacking = others.reduce((sum, [, lack]) => sum + lack, 0);
  // Half of it at most is taken from the one whose content has no end, such as an error.
  const kept = last === undefined ? 0 : Math.min(lacks(last.key, Number.POSITIVE_INFINITY), Math.floor(spare / 2));
  const given = Math.min(lacking, spare - kept);
  // Who lacks little gets all of it: a word that is cut for a few pixels helps no long name.
  let left = given;
  for (const [place, [key, lack]] of others.entries()) {
    const gets = Math.min(lack, Math.floor(left / (others.length - place)));
    widths.set(key, (widths.get(key) ?? 0) + gets);
    left -= gets;
  }
  if (last !== undefined) widths.set(last.key, (widths.get(last.key) ?? 0) + spare - given);
  return widths;
}

/** Columns in which no row says anything go first where there is no room, and take none that is left. */
export function emptyFirst<Column extends ColumnSize>(
  columns: readonly Column[],
  empty: (column: Column) => boolean,
): readonly Column[] {
  const last = Math.max(...columns.map(({ rank }) => rank));
  return columns.map((column) =>
    column.rank > 0 && empty(column) ? { ...column, rank: column.rank + last, grow: 0, empty: true } : column,
  );
}
