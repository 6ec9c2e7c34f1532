/**
 * The one rule of all lists: which rows a page has, in which order, and where it ends, when something changes. Pure.
 */

/** A page of a connection, as the server answers it. */
export interface ListPage<Row> {
  readonly nodes: readonly Row[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  readonly totalCount?: number;
}

export interface ListState<Row> {
  readonly rows: readonly Row[];
  /** The cursor behind the last row; null when only the server knows where that is by now. */
  readonly end: string | null;
  readonly more: boolean;
  /** How many match on all pages, if the server was asked. */
  readonly total: number | null;
  /** Something changed that the page cannot judge: the server must be asked. */
  readonly stale: boolean;
}

/** What the page knows of its list. */
export interface ListRule<Row> {
  id(row: Row): string;
  /** Whether the list holds this row, by the filter that the server judges too; null = only the server knows. */
  matches(row: Row): boolean | null;
  /** The order of the list: below 0 = left comes first; null where only the server knows. */
  order(left: Row, right: Row): number | null;
  /** Whether this is the first page: nothing comes before its first row. */
  readonly first: boolean;
  /** Rows on a page of the server. */
  readonly size: number;
}

/** A thing that changed: its row as it is now, null when it is gone. */
export interface Change<Row> {
  readonly id: string;
  readonly row: Row | null;
}

/**
 * The page never has more than so many times its size: beyond it the tail is dropped, with the cursor behind it, and
 * the server is asked where the page ends by now. However long its answer takes, no burst draws more rows.
 */
const GROWS = 2;

/**
 * `first`: the answer begins with the first row. One that holds all rows counts them itself: the server counts a moment
 * later.
 */
export function listOf<Row>(page: ListPage<Row>, first = false): ListState<Row> {
  const { hasNextPage: more, endCursor: end } = page.pageInfo;
  const total = page.totalCount !== undefined && first && !more ? page.nodes.length : (page.totalCount ?? null);
  return { rows: page.nodes, end, more, total, stale: false };
}

/** The list after a change; the same object when it does not concern this list. */
export function changed<Row>(list: ListState<Row>, { id, row }: Change<Row>, rule: ListRule<Row>): ListState<Row> {
  const index = list.rows.findIndex((known) => rule.id(known) === id);
  const known = list.rows[index];
  if (row === null) return known === undefined ? outOfSight(list) : removed(list, index);
  const matches = rule.matches(row);
  if (matches === null) return { ...(known === undefined ? list : replaced(list, index, row)), stale: true };
  if (!matches) return known === undefined ? list : removed(list, index);
  if (known === undefined) return inserted(list, row, rule);
  const moved = rule.order(known, row);
  if (moved === 0) return replaced(list, index, row);
  const without = { ...list, rows: list.rows.toSpliced(index, 1) };
  return moved === null
    ? { ...replaced(list, index, row), stale: true }
    : { ...inserted(without, { ...known, ...row }, rule), stale: true };
}

/** A thing went of which the page only knows that it may have been counted. */
function outOfSight<Row>(list: ListState<Row>): ListState<Row> {
  return list.total === null || list.stale ? list : { ...list, stale: true };
}

function replaced<Row>(list: ListState<Row>, index: number, row: Row): ListState<Row> {
  const known = list.rows[index];
  return { ...list, rows: list.rows.with(index, { ...known, ...row }) };
}

/** The row leaves; what comes up from the next page, and the count, the server says. */
function removed<Row>(list: ListState<Row>, index: number): ListState<Row> {
  const total = list.total === null ? null : Math.max(0, list.total - 1);
  return { ...list, rows: list.rows.toSpliced(index, 1), total, stale: list.stale || list.more || total !== null };
}

/** The row takes its place, if that lies on this page. */
function inserted<Row>(list: ListState<Row>, row: Row, rule: ListRule<Row>): ListState<Row> {
  const place = placeOf(list.rows, row, rule);
  if (place === null) return { ...list, stale: true };
  const onEarlierPage = place === 0 && !rule.first;
  const onLaterPage = place === list.rows.length && list.more;
  // It may have been there, and counted, before it changed: the server says how many there are by now.
  if (onEarlierPage || onLaterPage) return outOfSight(list);
  const counted = list.total === null ? list : { ...list, total: list.total + 1, stale: true };
  const rows = counted.rows.toSpliced(place, 0, row);
  const most = rule.size * GROWS;
  return rows.length > most
    ? { ...counted, rows: rows.slice(0, most), end: null, more: true, stale: true }
    : { ...counted, rows };
}

/** Where the row belongs, by halving: rows are in order. Null where only the server knows. */
function placeOf<Row>(rows: readonly Row[], row: Row, rule: ListRule<Row>): number | null {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const at = rows[middle];
    const side = at === undefined ? null : rule.order(at, row);
    if (side === null) return null;
    if (side <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Compares numbers in decimal, such as ids. */
export function byNumber(left: string, right: string): number {
  return Number(left) - Number(right);
}

/** Compares times, or other texts; what has none comes last, as the server has it. */
export function byText(left: string | null, right: string | null): number {
  if (left === right) return 0;
  if (left === null || right === null) return left === null ? 1 : -1;
  return left < right ? -1 : 1;
}

/** The first of two comparisons that tells them apart. */
export function thenBy(first: number, second: number): number {
  return first === 0 ? second : first;
}

/**
 * Rows that stay chosen when the page showed `before` and shows `after`: those that left the list are chosen no more.
 */
export function stillChosen(
  chosen: ReadonlySet<string>,
  before: readonly string[],
  after: readonly string[],
): ReadonlySet<string> {
  const shown = new Set(after);
  const left = before.filter((id) => chosen.has(id) && !shown.has(id));
  if (left.length === 0) return chosen;
  return new Set([...chosen].filter((id) => !left.includes(id)));
}

/**
 * All rows of the page chosen in addition, or, if they all are already, none of them any more; other pages' choice
 * stays.
 */
export function togglePage(chosen: ReadonlySet<string>, page: readonly string[]): ReadonlySet<string> {
  return page.every((id) => chosen.has(id))
    ? new Set([...chosen].filter((id) => !page.includes(id)))
    : new Set([...chosen, ...page]);
}
