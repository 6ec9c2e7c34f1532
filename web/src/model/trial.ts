/** Rows as an action will make them, shown before the server has answered. */
export interface Trial<Row> {
  /** The rows as they will be. */
  begin(rows: readonly Row[]): readonly Row[];
  /** The rows as they were; one that has changed since by itself stays as it is. */
  takeBack(rows: readonly Row[]): readonly Row[];
}

/** Changes the rows that are wanted, and remembers how each was. */
export function trial<Row extends object>(
  wanted: (row: Row) => boolean,
  change: (row: Row) => Partial<Row>,
): Trial<Row> {
  const before = new Map<Row, Row>();
  return {
    begin: (rows) =>
      rows.map((row) => {
        if (!wanted(row)) return row;
        const next = { ...row, ...change(row) };
        before.set(next, row);
        return next;
      }),
    takeBack: (rows) => rows.map((row) => before.get(row) ?? row),
  };
}
