import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { frozen } from "../live/clock";
import type { LiveList } from "../live/use-live-list";
import type { Sorts } from "../model/sorting";
import { type Column, DataTable } from "./data-table";
import { Skeleton } from "./feedback";
import { Icon } from "./icon";
import { Pager } from "./pager";
import { type Narrowing, Refused } from "./refused";
import type { Selection } from "./use-selection";
import { useWidth } from "./use-width";

/** From so many pixels on the list leaves room for the details of a row beside it. */
const ROOM_BESIDE = 1_200;

interface ListPanelProps<Row, Context> {
  label: string;
  /** Names the table. */
  id: string;
  /** The cursor of the page that is shown, "" for the first. */
  after: string;
  /** The list with its filters and page. */
  page: string;
  list: LiveList<Row>;
  columns: readonly Column<Row, Context>[];
  context: Context;
  rowId(row: Row): string;
  rowName?(row: Row): string;
  rowClass?(row: Row): string;
  /** Which headings order the list, and how it is ordered. */
  sorting?: { readonly sorts: Sorts; readonly sort: string; readonly usual: string };
  selection?: Selection | undefined;
  /**
   * The details of a row, which `Enter` opens beside the list where there is room; without it, `Enter` goes to its
   * page.
   */
  detail?: ((row: Row) => ComponentChildren) | undefined;
  /** Its rows need several lines, no matter what the reader has chosen. */
  tall?: boolean;
  /** What makes it shorter where it is too long for what is asked of it. */
  narrowing?: Omit<Narrowing, "rows">;
  /** What to say when there is no row. */
  empty: ComponentChildren;
}

/** The row whose details stand beside the list, and what keys and the focus do about it. */
function useBeside(wide: boolean) {
  const [open, setOpen] = useState<string | null>(null);
  const shown = wide ? open : null;
  useEffect(() => {
    if (shown === null) return undefined;
    const onKey = (event: KeyboardEvent): void => {
      const busy =
        document.querySelector("dialog[open]") !== null ||
        (event.target instanceof Element && event.target.closest("input, textarea, select, [role=slider]") !== null);
      if (event.key === "Escape" && !event.defaultPrevented && !busy) setOpen(null);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [shown]);
  return {
    shown,
    close: () => setOpen(null),
    handlers: {
      onKeyDown: (event: KeyboardEvent): void => {
        const id =
          event.target instanceof HTMLElement && event.target.matches("[data-row]")
            ? event.target.dataset["id"]
            : undefined;
        if (
          !wide ||
          event.key !== "Enter" ||
          event.ctrlKey ||
          event.metaKey ||
          event.altKey ||
          event.shiftKey ||
          id === undefined ||
          id === open
        )
          return;
        // A second press goes to the page of the row.
        event.preventDefault();
        event.stopPropagation();
        setOpen(id);
      },
      onFocusIn: (event: FocusEvent): void => {
        const id =
          event.target instanceof HTMLElement && event.target.matches("[data-row]")
            ? event.target.dataset["id"]
            : undefined;
        if (id !== undefined) setOpen((before) => (before === null ? null : id));
      },
    },
  };
}

/** A list with all that can be the matter with it: on its way, failed (old rows stay, dimmed), empty, on pages. */
export function ListPanel<Row, Context>({
  label,
  list,
  empty,
  after,
  detail,
  narrowing,
  ...table
}: ListPanelProps<Row, Context>) {
  const { state, error, loading, reload } = list;
  const { ref, width } = useWidth<HTMLDivElement>();
  const beside = useBeside(detail !== undefined && width >= ROOM_BESIDE);
  const row = beside.shown === null ? undefined : state?.rows.find((each) => table.rowId(each) === beside.shown);
  const look = error !== null || frozen.value ? "dimmed" : loading ? "loading" : "";
  return (
    <div ref={ref} class={row === undefined ? "" : "with-beside"}>
      {error !== null && (
        <Refused error={error} retry={reload} narrowing={{ ...narrowing, rows: label.toLowerCase() }} />
      )}
      {state === null ? (
        error === null && <Skeleton rows={10} />
      ) : (
        <section class={`panel ${look}`} aria-label={label} aria-busy={loading} {...beside.handlers}>
          {state.rows.length === 0 ? empty : <DataTable {...table} rows={state.rows} />}
          <Pager after={after} end={state.end} more={state.more} shown={state.rows.length} />
        </section>
      )}
      {row !== undefined && detail !== undefined && (
        <aside class="panel beside" aria-label={`Details of ${table.rowName?.(row) ?? table.rowId(row)}`}>
          <div class="panel-head">
            <h2>Details</h2>
            <button
              type="button"
              class="icon-button"
              aria-label="Close the details"
              title="Close (Esc)"
              onClick={beside.close}
            >
              <Icon name="close" />
            </button>
          </div>
          {detail(row)}
        </aside>
      )}
    </div>
  );
}
