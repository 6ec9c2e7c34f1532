import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { usePhone } from "./use-phone";

interface FewProps {
  class: string;
  /** So many are shown on a phone. */
  few: number;
  /** The items of the list, the most important first. */
  items: readonly ComponentChildren[];
}

interface Fold<Item> {
  readonly shown: readonly Item[];
  /** The button that unfolds the others; nothing where all are shown. */
  readonly more: ComponentChildren;
}

/** On a phone the first few of something; the others are one press away. */
export function useFold<Item>(items: readonly Item[], few: number): Fold<Item> {
  const phone = usePhone();
  const [open, setOpen] = useState(false);
  // One item needs no more room than the button.
  const folds = phone && items.length > few + 1;
  return {
    shown: folds && !open ? items.slice(0, few) : items,
    more: folds && (
      <button type="button" class="link-button few-more" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Show fewer" : `Show ${items.length - few} more`}
      </button>
    ),
  };
}

/** A list of which a phone shows the first few. */
export function Few({ class: look, few, items }: FewProps) {
  const { shown, more } = useFold(items, few);
  return (
    <>
      <ul class={look}>{shown}</ul>
      {more}
    </>
  );
}
