import { stored } from "./stored";

/** The columns that the reader does not want, by table. */
export type HiddenColumns = Readonly<Record<string, readonly string[]>>;

/** Reads what the browser keeps; anything else is left out. */
export function readHidden(value: unknown): HiddenColumns {
  if (typeof value !== "object" || value === null) return {};
  const isNames = (names: unknown): names is string[] =>
    Array.isArray(names) && names.every((name) => typeof name === "string");
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string[]] => isNames(entry[1])));
}

const hidden = stored("cronograph.columns", readHidden);

export function hiddenColumns(table: string): ReadonlySet<string> {
  return new Set(hidden.value[table] ?? []);
}

export function setColumnShown(table: string, column: string, shown: boolean): void {
  const others = (hidden.value[table] ?? []).filter((name) => name !== column);
  hidden.value = { ...hidden.value, [table]: shown ? others : [...others, column] };
}
