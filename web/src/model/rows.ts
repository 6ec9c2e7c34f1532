/** Pure helpers for lists of rows with an identity. */

interface Identified {
  readonly id: string;
}

/** Replaces the row of the same id, or puts a new one first; at most `limit` rows stay. */
export function upsertFirst<T extends Identified>(rows: readonly T[], row: T, limit: number): readonly T[] {
  const index = rows.findIndex((known) => known.id === row.id);
  if (index >= 0) return rows.with(index, row);
  return [row, ...rows].slice(0, limit);
}

/** Replaces the row of the same id; a row that is not there stays away. */
export function replace<T extends Identified>(rows: readonly T[], row: T): readonly T[] {
  const index = rows.findIndex((known) => known.id === row.id);
  return index < 0 ? rows : rows.with(index, row);
}

/** Without the row of this id; the same array when there was none. */
export function without<T extends Identified>(rows: readonly T[], id: string | null): readonly T[] {
  return rows.some((row) => row.id === id) ? rows.filter((row) => row.id !== id) : rows;
}

interface Running extends Identified {
  readonly completedAt: string | null;
  readonly progress: unknown;
  readonly run: Identified | null;
}

/** The open execution of a run with the progress that the run reports: events bring it with the run. */
export function withProgress<T extends Running>(
  rows: readonly T[],
  run: { readonly id: string; readonly progress: T["progress"] } | null,
): readonly T[] {
  if (run === null) return rows;
  const index = rows.findIndex((row) => row.run?.id === run.id && row.completedAt === null);
  const row = rows[index];
  return row === undefined ? rows : rows.with(index, { ...row, progress: run.progress });
}

/** The failed attempts of a run that has succeeded show that. */
export function withRecovery<T extends Running & { readonly success: boolean | null }>(
  rows: readonly T[],
  run: { readonly id: string; readonly state: string } | null,
): readonly T[] {
  if (run?.state !== "SUCCESS") return rows;
  const failed = (row: T): boolean => row.run?.id === run.id && row.success === false;
  return rows.some(failed) ? rows.map((row) => (failed(row) ? { ...row, isRecovered: true } : row)) : rows;
}

/**
 * Puts rows where the pointer does not lose them: known rows keep their place, newcomers wait, and those that left stay
 * in sight.
 */
export function steady<T>(
  held: readonly T[],
  current: readonly T[],
  id: (row: T) => string,
): { rows: readonly T[]; fresh: number; left: ReadonlySet<string> } {
  const byId = new Map(current.map((row) => [id(row), row]));
  const heldIds = new Set(held.map(id));
  return {
    rows: held.map((row) => byId.get(id(row)) ?? row),
    fresh: current.filter((row) => !heldIds.has(id(row))).length,
    left: new Set([...heldIds].filter((each) => !byId.has(each))),
  };
}
