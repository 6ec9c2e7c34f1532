/** @jsxImportSource react */
/**
 * Stands in for the package `framer-motion`, of which GraphiQL uses `Reorder` alone: its tabs change places when one
 * is dragged. The whole package would be a tenth of the explorer.
 */
import { type ComponentProps, createContext, type PointerEvent, useContext, useMemo, useRef } from "react";
import { moved } from "./moved";

/** A tab. What it holds is made again while somebody types; its id stays. */
interface Value {
  readonly id: string;
}

interface GroupProps extends Omit<ComponentProps<"ul">, "values"> {
  values: readonly Value[];
  onReorder(values: Value[]): void;
  axis?: string;
}

interface ItemProps extends Omit<ComponentProps<"li">, "value"> {
  value: Value;
}

interface Dragging {
  from(id: string): void;
  over(id: string, event: PointerEvent): void;
}

const Dragged = createContext<Dragging>({ from: () => undefined, over: () => undefined });

function Group({ values, onReorder, axis: _axis, ...props }: GroupProps) {
  const latest = useRef({ values, onReorder });
  latest.current = { values, onReorder };
  const dragging = useMemo((): Dragging => {
    let dragged: string | null = null;
    return {
      from: (id) => {
        dragged = id;
      },
      over: (id, event) => {
        // The button may have been let go outside of the window, where nobody hears of it.
        if (event.buttons !== 1) dragged = null;
        if (dragged === null || dragged === id) return;
        const { values, onReorder } = latest.current;
        onReorder(moved(values, dragged, id));
      },
    };
  }, []);
  return (
    <Dragged.Provider value={dragging}>
      <ul {...props} />
    </Dragged.Provider>
  );
}

function Item({ value, ...props }: ItemProps) {
  const dragging = useContext(Dragged);
  return (
    <li
      {...props}
      onPointerDown={() => dragging.from(value.id)}
      onPointerEnter={(event) => dragging.over(value.id, event)}
    />
  );
}

export const Reorder = { Group, Item };
