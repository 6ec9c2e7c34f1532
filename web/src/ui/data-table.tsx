import { Component, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { type ColumnSize, emptyFirst, fitColumns } from "../model/columns";
import { headingOf, type Sorts } from "../model/sorting";
import { hiddenColumns } from "../state/columns";
import { density } from "../state/prefs";
import { setParams, takeRowFocus } from "../state/route";
import { CopyName } from "./copy-name";
import { FreshButton } from "./fresh-button";
import { OneLine } from "./one-line";
import { useNeeds } from "./use-needs";
import type { Selection } from "./use-selection";
import { useSteady } from "./use-steady";
import { useWidth } from "./use-width";

/** A column of a table; `Context` is what its cells need beyond their row. */
export interface Column<Row, Context = null> extends ColumnSize {
  /** Its heading; in cards it stands before the value. */
  readonly title: string;
  /** Headings that only screen readers hear, such as that of the buttons. */
  readonly untitled?: boolean;
  /**
   * Where it stands in a card: at the head, at its right end, beside another, or over the whole width; `none` = left
   * out.
   */
  readonly card: "title" | "actions" | "pair" | "wide" | "none";
  /** Whether a card shows the value without its title. */
  readonly bare?: boolean;
  /** Whether a row says nothing there: a column of which no row says anything goes first where there is no room. */
  isEmpty?(row: Row): boolean;
  /** Whether it is left out where no row says anything there. */
  readonly optional?: boolean;
  cell(row: Row, context: Context): ComponentChildren;
  /** The name that the cell shows, perhaps cut: while one points at the row or is on it, it can be copied. */
  name?(row: Row): string;
}

interface DataTableProps<Row, Context> {
  /** Names the table: for its style, and for the choice of columns. */
  id: string;
  columns: readonly Column<Row, Context>[];
  context: Context;
  rows: readonly Row[];
  /** The page and its filters: on another one nothing is held in place. */
  page?: string;
  rowId(row: Row): string;
  /** How a row is called, for its checkbox. */
  rowName?(row: Row): string;
  /** What a row as a whole says by its look. */
  rowClass?(row: Row): string;
  /** Which headings order the list, and how it is ordered: without it, none. */
  sorting?: { readonly sorts: Sorts; readonly sort: string; readonly usual: string } | undefined;
  /** Without it rows cannot be chosen. */
  selection?: Selection | undefined;
  /** Its rows need several lines, no matter what the reader has chosen. */
  tall?: boolean | undefined;
}

const CHECK_WIDTH = 40;

/**
 * The table of every list: columns that fit their place, cards where there is none, rows that do not move under the
 * pointer.
 */
export function DataTable<Row, Context>(props: DataTableProps<Row, Context>) {
  const { id, rows: current, rowId, selection, page = "" } = props;
  const { rows, fresh, left, release, bind } = useSteady(current, rowId, page);
  const isEmpty = ({ isEmpty: says }: Column<Row, Context>): boolean =>
    says !== undefined && rows.every((row) => says(row));
  const out = props.columns.filter((column) => column.optional === true && isEmpty(column)).map(({ key }) => key);
  const columns = useMemo(() => props.columns.filter(({ key }) => !out.includes(key)), [props.columns, out.join()]);
  const { ref, width } = useWidth<HTMLDivElement>();
  const room = width - (selection === undefined ? 0 : CHECK_WIDTH);
  const hidden = hiddenColumns(id);
  const empty = columns.filter((column) => rows.length > 0 && isEmpty(column)).map(({ key }) => key);
  const oneLineAtMost = props.tall !== true && density.value === "compact";
  const [last, setLast] = useState<readonly string[]>([]);
  const needs = useNeeds(ref, `${id} ${page}`, last, rows);

  const fit = useMemo(
    () =>
      fitColumns(
        emptyFirst(columns, ({ key }) => empty.includes(key)),
        room,
        hidden,
        oneLineAtMost ? needs : undefined,
      ),
    [columns, room, [...hidden].join(), empty.join(), needs, oneLineAtMost],
  );
  const shown = useMemo(
    () =>
      fit === null
        ? cardOrder(
            columns.filter((column) => column.card !== "none" && (column.rank === 0 || !hidden.has(column.key))),
          )
        : columns.filter((column) => fit.has(column.key)),
    [columns, fit],
  );
  useEffect(() => {
    if (width > 0) takeRowFocus(ref.current);
  }, [width > 0, rows.length > 0]);
  const drawn = fit === null ? [] : shown.map(({ key }) => key);
  useLayoutEffect(() => setLast(drawn), [drawn.join()]);
  const chosen = selection?.selected;
  const [pointed, setPointed] = useState<string | null>(null);
  const [focused, setFocused] = useState<string | null>(null);
  const oneLine = fit !== null && oneLineAtMost;
  return (
    <div ref={ref} class="table-wrap" {...bind}>
      {fresh > 0 && (
        <div class="fresh-bar">
          <FreshButton count={fresh} release={release} />
        </div>
      )}
      {width > 0 && (
        <table
          style={
            fit === null ? { "--actions": `${columns.find((column) => column.card === "actions")?.width ?? 0}px` } : {}
          }
          class={`table ${id} ${fit === null ? "as-cards" : ""} ${oneLine ? "one-line" : ""} ${selection === undefined ? "" : "selectable"}`}
        >
          {fit !== null && (
            <colgroup>
              {selection !== undefined && <col style={{ width: `${CHECK_WIDTH}px` }} />}
              {shown.map((column) => (
                <col key={column.key} style={{ width: `${fit.get(column.key) ?? column.width}px` }} />
              ))}
            </colgroup>
          )}
          <thead>
            <tr>
              {selection !== undefined && (
                <th class="cell-check">
                  <label class="check">
                    <input
                      type="checkbox"
                      aria-label="Select all rows of this page"
                      checked={current.length > 0 && current.every((row) => selection.selected.has(rowId(row)))}
                      onChange={() => selection.togglePage(current.map(rowId))}
                    />
                  </label>
                </th>
              )}
              {shown.map((column) => (
                <HeadCell key={column.key} column={column} sorting={props.sorting} />
              ))}
            </tr>
          </thead>
          <tbody
            onMouseOver={(event) => {
              nameWhatIsCut(event);
              setPointed(rowOf(event.target));
            }}
            onMouseLeave={() => setPointed(null)}
            onFocusIn={({ target }) => setFocused(rowOf(target))}
            onFocusOut={({ relatedTarget }) => setFocused(rowOf(relatedTarget))}
          >
            <OneLine.Provider value={oneLine}>
              {rows.map((row) => {
                const key = rowId(row);
                return (
                  <RowView
                    key={key}
                    id={key}
                    row={row}
                    columns={shown}
                    context={props.context}
                    name={props.rowName?.(row) ?? key}
                    look={`${props.rowClass?.(row) ?? ""} ${left.has(key) ? "left" : ""}`}
                    chosen={chosen?.has(key) ?? null}
                    active={key === pointed || key === focused}
                    toggle={selection?.toggle}
                  />
                );
              })}
            </OneLine.Provider>
          </tbody>
        </table>
      )}
    </div>
  );
}

interface HeadCellProps {
  column: Pick<Column<unknown, unknown>, "key" | "title" | "untitled" | "number">;
  sorting: DataTableProps<unknown, unknown>["sorting"];
}

/** A heading; where the list can be ordered by its column, a button that does so. */
function HeadCell({ column: { key, title, untitled, number }, sorting }: HeadCellProps) {
  const heading = sorting === undefined ? null : headingOf(sorting.sorts, key, sorting.sort);
  return (
    <th scope="col" class={number === true ? "cell-num" : ""} aria-sort={heading?.now ?? undefined}>
      {untitled === true ? (
        <span class="visually-hidden">{title}</span>
      ) : heading === null ? (
        title
      ) : (
        <button
          type="button"
          class="heading-sort"
          onClick={() => setParams({ sort: heading.next === sorting?.usual ? null : heading.next, after: null })}
        >
          {title}
          {heading.now !== null && <span aria-hidden="true">{heading.now === "ascending" ? " ↑" : " ↓"}</span>}
        </button>
      )}
    </th>
  );
}

/** The row in which something is. */
function rowOf(target: EventTarget | null): string | null {
  return (target instanceof Element ? target.closest<HTMLElement>("[data-row]")?.dataset["id"] : null) ?? null;
}

/** What is cut in a cell shows in full under the pointer. */
function nameWhatIsCut({ target }: Event): void {
  const cell = target instanceof Element ? target.closest("td") : null;
  if (cell === null) return;
  if (cell.scrollWidth > cell.clientWidth) cell.title = cell.textContent ?? "";
  else cell.removeAttribute("title");
}

const CARD_ORDER = ["title", "actions", "pair", "wide", "none"];

/** The order in a card: pairs stand together, what needs the whole width comes last. */
function cardOrder<C extends { readonly card: string }>(columns: readonly C[]): readonly C[] {
  return [...columns].sort((left, right) => CARD_ORDER.indexOf(left.card) - CARD_ORDER.indexOf(right.card));
}

interface RowProps<Row, Context> {
  id: string;
  row: Row;
  columns: readonly Column<Row, Context>[];
  context: Context;
  name: string;
  look: string;
  /** Null where rows cannot be chosen. */
  chosen: boolean | null;
  /** One points at it, or the focus is in it. */
  active: boolean;
  toggle: ((key: string) => void) | undefined;
}

/** In a card values stand in pairs: the first of each at the left. */
function sideOf<Row, Context>(columns: readonly Column<Row, Context>[], column: Column<Row, Context>): string {
  if (column.card !== "pair") return "";
  return columns.filter((each) => each.card === "pair").indexOf(column) % 2 === 0 ? "pairs-left" : "pairs-right";
}

/** Drawn again only when something of it changed: a burst of events costs the rows that it is about. */
class RowView<Row, Context> extends Component<RowProps<Row, Context>> {
  override shouldComponentUpdate(next: RowProps<Row, Context>): boolean {
    const { row, columns, context, look, chosen, active } = this.props;
    return (
      next.row !== row ||
      next.columns !== columns ||
      next.context !== context ||
      next.look !== look ||
      next.chosen !== chosen ||
      next.active !== active
    );
  }

  override render({ id, row, columns, context, name, look, chosen, active }: RowProps<Row, Context>) {
    return (
      <tr data-row data-id={id} tabIndex={-1} class={`${look} ${chosen === true ? "selected" : ""}`.trim()}>
        {chosen !== null && (
          <td class="cell-check">
            <label class="check">
              <input
                type="checkbox"
                data-key="x"
                aria-label={`Select ${name}`}
                checked={chosen}
                onChange={() => this.props.toggle?.(id)}
              />
            </label>
          </td>
        )}
        {columns.map((column) => (
          <td
            key={column.key}
            class={`cell-${column.key} card-${column.card} ${sideOf(columns, column)} ${column.number === true ? "cell-num" : ""}`}
            data-label={
              column.bare === true || column.untitled === true || column.card === "title" ? undefined : column.title
            }
          >
            {column.cell(row, context)}
            {active && column.name !== undefined && <CopyName name={column.name(row)} />}
          </td>
        ))}
      </tr>
    );
  }
}
