import type { ComponentChildren } from "preact";
import type { LiveList } from "../live/use-live-list";
import { frozen } from "../live/clock";
import { type Column, DataTable } from "./data-table";
import type { Sorts } from "../model/sorting";
import { ErrorBox, Skeleton } from "./feedback";
import { Pager } from "./pager";
import type { Selection } from "./use-selection";

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
  /** What to say when there is no row. */
  empty: ComponentChildren;
}

/** A list with all that can be the matter with it: on its way, failed (old rows stay, dimmed), empty, on pages. */
export function ListPanel<Row, Context>({ label, list, empty, after, ...table }: ListPanelProps<Row, Context>) {
  const { state, error, loading, reload } = list;
  const look = error !== null || frozen.value ? "dimmed" : loading ? "loading" : "";
  return (
    <>
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {state === null ? (
        error === null && <Skeleton rows={10} />
      ) : (
        <section class={`panel ${look}`} aria-label={label} aria-busy={loading}>
          {state.rows.length === 0 ? empty : <DataTable {...table} rows={state.rows} />}
          <Pager after={after} end={state.end} more={state.more} shown={state.rows.length} />
        </section>
      )}
    </>
  );
}
