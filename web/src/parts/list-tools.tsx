import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { plural } from "../lib/format";
import { asCsv, asJson } from "../model/export";
import { saveFile } from "../services/save-file";
import { hiddenColumns, setColumnShown } from "../state/columns";
import { isPlainClick, place } from "../state/route";
import { Icon } from "../ui/icon";
import { ViewMenu } from "./view-menu";

interface ListToolsProps {
  /** Names the table whose columns are chosen. */
  table: string;
  columns: readonly { readonly key: string; readonly title: string; readonly rank: number }[];
  /** What the list shows now; null until it is known. */
  rows: readonly object[] | null;
}

/** The saved views of a list, its columns as this browser keeps them, and its rows as a file. */
export function ListTools({ table, columns, rows }: ListToolsProps) {
  return (
    <span class="list-tools">
      <Menu label="Views">
        <ViewMenu path={place.value.path} search={place.value.search} />
      </Menu>
      <Menu label="Columns">
        <ColumnChoice table={table} columns={columns} />
        <Export table={table} rows={rows ?? []} />
      </Menu>
    </span>
  );
}

/** The menu is done with; the focus is where it came from. */
function close(menu: HTMLDetailsElement): void {
  menu.open = false;
  menu.querySelector("summary")?.focus();
}

function Menu({ label, children }: { label: string; children: ComponentChildren }) {
  const [open, setOpen] = useState(false);
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (!open) return undefined;
    // What is pressed outside takes the focus away only if it can have it itself.
    const leave = ({ target }: Event): void => {
      if (menu.current !== null && target instanceof Node && !menu.current.contains(target)) menu.current.open = false;
    };
    document.addEventListener("pointerdown", leave);
    return () => document.removeEventListener("pointerdown", leave);
  }, [open]);
  return (
    <details
      ref={menu}
      class="menu"
      onToggle={(event) => setOpen(event.currentTarget.open)}
      onFocusOut={(event) => {
        const to = event.relatedTarget;
        if (to instanceof Node && !event.currentTarget.contains(to)) event.currentTarget.open = false;
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape" && event.currentTarget.open) close(event.currentTarget);
      }}
      onClick={(event) => {
        const within = event.target instanceof Element ? event.target.closest("a") : null;
        // A link that opens in another tab leaves the menu as it is.
        if (within !== null && isPlainClick(event)) close(event.currentTarget);
      }}
    >
      <summary class="button small">
        {label} <Icon name="down" />
      </summary>
      {open && <div class="menu-body">{children}</div>}
    </details>
  );
}

function Export({ table, rows }: Pick<ListToolsProps, "table"> & { rows: readonly object[] }) {
  return (
    <>
      <button type="button" class="button" onClick={() => saveFile(`${table}.csv`, "text/csv", asCsv(rows))}>
        {plural(rows.length, "row")} as CSV
      </button>
      <button type="button" class="button" onClick={() => saveFile(`${table}.json`, "application/json", asJson(rows))}>
        {plural(rows.length, "row")} as JSON
      </button>
      <p class="field-hint">The rows of this page, as its filters and its order have them.</p>
    </>
  );
}

function ColumnChoice({ table, columns }: Omit<ListToolsProps, "rows">) {
  const hidden = hiddenColumns(table);
  return (
    <>
      {columns
        .filter((column) => column.rank > 0)
        .map((column) => (
          <label key={column.key} class="menu-line">
            <input
              type="checkbox"
              checked={!hidden.has(column.key)}
              onChange={(event) => setColumnShown(table, column.key, event.currentTarget.checked)}
            />
            {column.title}
          </label>
        ))}
      <p class="field-hint">Where there is no room for all, the least important are left out.</p>
    </>
  );
}
