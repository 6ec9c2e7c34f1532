import type { StripRow } from "../graphql/strip";

/** Occurrences by the id of their task. */
export type Strips = ReadonlyMap<string, readonly StripRow[]>;

export function stripsOf(tasks: readonly { readonly id: string; readonly occurrences: { readonly nodes: readonly StripRow[] } }[]): Strips {
  return new Map(tasks.map((task) => [task.id, task.occurrences.nodes]));
}
