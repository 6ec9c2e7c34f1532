import { stored } from "./stored";

/** Filters and order of a list under a name. */
export interface View {
  readonly name: string;
  /** The query of the address, with its `?`; empty for the list as it is. */
  readonly search: string;
}

type Views = Readonly<Record<string, readonly View[]>>;

function isView(value: unknown): value is View {
  return typeof value === "object" && value !== null && "name" in value && typeof value.name === "string" && "search" in value && typeof value.search === "string";
}

/** Reads what the browser keeps; anything else is left out. */
export function readViews(value: unknown): Views {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(Object.entries(value).map(([path, views]) => [path, Array.isArray(views) ? views.filter(isView) : []]));
}

/** The query without its page: a view begins at the first one. */
export function withoutPage(search: string): string {
  const params = new URLSearchParams(search);
  params.delete("after");
  const text = params.toString();
  return text === "" ? "" : `?${text}`;
}

const views = stored("cronograph.views", readViews);

/** The views of the list at this path, by name. */
export function viewsOf(path: string): readonly View[] {
  return views.value[path] ?? [];
}

/** Keeps a view; one of the same name is replaced. */
export function saveView(path: string, view: View): void {
  const others = viewsOf(path).filter(({ name }) => name !== view.name);
  const all = [...others, { ...view, search: withoutPage(view.search) }];
  views.value = { ...views.value, [path]: all.sort((left, right) => left.name.localeCompare(right.name)) };
}

export function removeView(path: string, name: string): void {
  views.value = { ...views.value, [path]: viewsOf(path).filter((view) => view.name !== name) };
}
