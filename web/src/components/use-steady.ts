import { useReducer, useRef, useState } from "preact/hooks";
import { steady } from "../model/rows";

interface Steady<T> {
  readonly rows: readonly T[];
  /** How many newcomers wait until the pointer leaves. */
  readonly fresh: number;
  /** Lets the newcomers in. */
  release(): void;
  /** To be spread on the element that holds the rows. */
  readonly bind: {
    onPointerEnter(): void;
    onPointerLeave(): void;
    onFocusIn(): void;
    onFocusOut(): void;
  };
}

/** While the pointer or the focus is on a list, its rows keep their place: nobody clicks what has just moved. */
export function useSteady<T extends { readonly id: string }>(current: readonly T[]): Steady<T> {
  const [holding, setHolding] = useState(false);
  const [, render] = useReducer((count: number) => count + 1, 0);
  const held = useRef<readonly T[]>(current);
  const shown = holding ? steady(held.current, current) : { rows: current, fresh: 0 };
  held.current = shown.rows;
  return {
    ...shown,
    release: () => {
      held.current = current;
      render(undefined);
    },
    bind: {
      onPointerEnter: () => setHolding(true),
      onPointerLeave: () => setHolding(false),
      onFocusIn: () => setHolding(true),
      onFocusOut: () => setHolding(false),
    },
  };
}
