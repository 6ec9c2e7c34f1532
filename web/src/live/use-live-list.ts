import type { LiveEvent, Part } from "../api/fragments";
import type { TadaDocumentNode } from "../api/tada";
import { type Change, changed, type ListPage, type ListRule, type ListState, listOf } from "../model/live-list";
import { trial } from "../model/trial";
import type { Stamps } from "./session";
import { type LiveResult, useLive } from "./use-live";

/** A list of rows on pages, and how events change it. */
export interface LiveListQuery<R extends Stamps, V, Row> extends ListRule<Row> {
  readonly document: TadaDocumentNode<R, V>;
  variables(): V;
  page(data: R): ListPage<Row>;
  readonly parts?: readonly Part[];
  /** The row that an event is about, as it is now; null when the event is about none of this kind. */
  change?(event: LiveEvent): Change<Row> | null;
  /** Changes rows that the event is not about, but shows something of; the same array when there is none. */
  touch?(rows: readonly Row[], event: LiveEvent): readonly Row[];
  /** Events that change what rows show beyond what they bring: the server is asked again. */
  outdates?(event: LiveEvent): boolean;
  readonly every?: number;
}

export type LiveList<Row> = LiveResult<ListState<Row>>;

/**
 * A page of a list that stays true: rows enter, leave and move by the filter and the order that the server uses, and
 * where the page cannot judge, it asks again. `key` names the question: list, filters, order and page.
 */
export function useLiveList<R extends Stamps, V, Row>(key: string, query: LiveListQuery<R, V, Row>): LiveList<Row> {
  const { document, variables, page, parts, change, touch, outdates, every } = query;
  return useLive<R, V, ListState<Row>>(key, {
    document,
    variables,
    ...(parts === undefined ? {} : { parts }),
    ...(every === undefined ? {} : { every }),
    init: (data) => listOf(page(data), query.first),
    reduce: (list, event) => {
      const about = change?.(event) ?? null;
      const next = about === null ? list : changed(list, about, query);
      const rows = touch?.(next.rows, event) ?? next.rows;
      return rows === next.rows ? next : { ...next, rows };
    },
    outdates: (event, list) => list.stale || outdates?.(event) === true,
  });
}

/**
 * Does something to rows, and shows them at once as it will make them; if it is refused, they are again as they were.
 */
export async function tryRows<Row extends object>(
  list: LiveList<Row>,
  wanted: (row: Row) => boolean,
  change: Partial<Row> | ((row: Row) => Partial<Row>),
  act: () => Promise<boolean>,
): Promise<void> {
  const { begin, takeBack } = trial(wanted, typeof change === "function" ? change : () => change);
  list.patch((before) => ({ ...before, rows: begin(before.rows) }));
  if (await act()) return;
  list.patch((before) => ({ ...before, rows: takeBack(before.rows) }));
}
