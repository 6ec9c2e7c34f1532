import { useState } from "preact/hooks";
import { historyEntry } from "../state/route";

/** Selections by history entry, so that "back" finds the rows that were selected. */
const kept = new Map<string, ReadonlySet<string>>();

interface Selection {
  readonly selected: ReadonlySet<string>;
  toggle(key: string): void;
  /** Selects all of these, or none if all are selected already. */
  toggleAll(keys: readonly string[]): void;
  clear(): void;
}

/** The selected rows of a list. */
export function useSelection(): Selection {
  const entry = historyEntry();
  const [selected, setSelected] = useState<ReadonlySet<string>>(() => kept.get(entry) ?? new Set());
  const keep = (next: ReadonlySet<string>): void => {
    kept.set(entry, next);
    setSelected(next);
  };
  return {
    selected,
    toggle: (key) => {
      const next = new Set(selected);
      if (!next.delete(key)) next.add(key);
      keep(next);
    },
    toggleAll: (keys) => keep(keys.every((key) => selected.has(key)) ? new Set() : new Set(keys)),
    clear: () => keep(new Set()),
  };
}
