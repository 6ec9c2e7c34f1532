import { useReducer, useRef, useState } from "preact/hooks";
import { steady } from "../model/rows";

interface Steady<T> {
  readonly rows: readonly T[];
  /** How many newcomers wait until the pointer leaves. */
  readonly fresh: number;
  /** Rows that are shown only because they are held: they are no longer part of the list. */
  readonly left: ReadonlySet<string>;
  /** Lets the newcomers in. */
  release(): void;
  /** To be spread on the element that holds the rows. */
  readonly bind: {
    onPointerEnter(): void;
    onPointerLeave(): void;
    onFocusIn(event: FocusEvent): void;
    onFocusOut(): void;
  };
}

/**
 * While the pointer or the focus is on a list, its rows keep their place: nobody clicks what has just moved. Another
 * `page` is shown at once.
 */
export function useSteady<T>(current: readonly T[], id: (row: T) => string, page = ""): Steady<T> {
  const [holding, setHolding] = useState(false);
  const [, render] = useReducer((count: number) => count + 1, 0);
  const held = useRef<{ readonly page: string; readonly rows: readonly T[] }>({ page, rows: current });
  const shown =
    holding && held.current.page === page
      ? steady(held.current.rows, current, id)
      : { rows: current, fresh: 0, left: NONE };
  held.current = { page, rows: shown.rows };
  return {
    ...shown,
    release: () => {
      held.current = { page, rows: current };
      render(undefined);
    },
    bind: {
      onPointerEnter: () => setHolding(true),
      onPointerLeave: () => setHolding(false),
      // A focus that a script gives after a click is not shown: who goes by pointer holds the rows by the pointer.
      onFocusIn: ({ target }) => {
        if (target instanceof Element && target.matches(":focus-visible")) setHolding(true);
      },
      onFocusOut: () => setHolding(false),
    },
  };
}

const NONE: ReadonlySet<string> = new Set();
