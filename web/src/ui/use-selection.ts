import { useEffect, useRef, useState } from "preact/hooks";
import { stillChosen, togglePage } from "../model/live-list";

export interface Selection {
  readonly selected: ReadonlySet<string>;
  toggle(key: string): void;
  /** Chooses all rows of this page, or, if all are chosen, none of them; other pages keep their choice. */
  togglePage(keys: readonly string[]): void;
  clear(): void;
}

/** Choices by list, so that "back" finds the rows that were chosen; bounded, oldest out first. */
const kept = new Map<string, ReadonlySet<string>>();
const KEEP = 20;

function keep(list: string, selected: ReadonlySet<string>): void {
  kept.delete(list);
  kept.set(list, selected);
  if (kept.size > KEEP) kept.delete(kept.keys().next().value ?? "");
}

/**
 * The chosen rows of a list. `list` names it with its filters, but without its page: a choice reaches over pages, and
 * ends where another filter would hide it. `shown` are the rows of this page: those that leave it are chosen no more.
 */
export function useSelection(list: string, page: string, shown: readonly string[] | null): Selection {
  const [, render] = useState(0);
  const selected = kept.get(list) ?? new Set<string>();
  const set = (next: ReadonlySet<string>): void => {
    keep(list, next);
    render((count) => count + 1);
  };
  const before = useRef<{ readonly place: string; readonly shown: readonly string[] }>({ place: "", shown: [] });
  const place = `${list} ${page}`;
  useEffect(() => {
    if (shown === null) return;
    const known = before.current;
    before.current = { place, shown };
    const next = known.place === place ? stillChosen(selected, known.shown, shown) : selected;
    if (next !== selected) set(next);
  }, [place, shown?.join(" ")]);
  return {
    selected,
    toggle: (key) =>
      set(selected.has(key) ? new Set([...selected].filter((each) => each !== key)) : new Set([...selected, key])),
    togglePage: (keys) => set(togglePage(selected, keys)),
    clear: () => set(new Set()),
  };
}
