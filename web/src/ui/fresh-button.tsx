import { plural } from "../lib/format";

/** Lets in the rows that waited for the pointer to leave. */
export function FreshButton({ count, release }: { count: number; release: () => void }) {
  return (
    <button type="button" class="button small fresh" onClick={release}>
      +{plural(count, "new", "new")}
    </button>
  );
}
