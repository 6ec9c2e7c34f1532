/** Orders that the headings of a table stand for. Pure. */

/** Which value of `sort` in the address orders by a column, upwards or downwards; not every order is offered. */
export interface Sorts {
  readonly [column: string]: { readonly ascending?: string; readonly descending?: string };
}

export interface Heading {
  /** The order that a press asks for. */
  readonly next: string;
  /** How the list is ordered by this column now. */
  readonly now: "ascending" | "descending" | null;
}

/** What the heading of a column does; null where the list cannot be ordered by it. */
export function headingOf(sorts: Sorts, column: string, sort: string): Heading | null {
  const { ascending, descending } = sorts[column] ?? {};
  if (ascending === undefined && descending === undefined) return null;
  const now = sort === ascending ? "ascending" : sort === descending ? "descending" : null;
  // Another press turns it around, if that can be had; large and late first, since that is what one looks for.
  const next = (now === "descending" ? ascending : descending) ?? ascending ?? descending ?? "";
  return { next, now };
}
