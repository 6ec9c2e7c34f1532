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

/** A list of which a phone shows the first few; the others are one press away. */
export function Few({ class: look, few, items }: FewProps) {
  const phone = usePhone();
  const [open, setOpen] = useState(false);
  // One item needs no more room than the button.
  const folds = phone && items.length > few + 1;
  return (
    <>
      <ul class={look}>{folds && !open ? items.slice(0, few) : items}</ul>
      {folds && (
        <button type="button" class="link-button few-more" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Show fewer" : `Show ${items.length - few} more`}
        </button>
      )}
    </>
  );
}
