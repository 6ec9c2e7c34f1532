import type { Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

/** Asks again after each change that was made here and is no event. */
export function useChanges(changes: Signal<number>, reload: () => void): void {
  const seen = useRef(changes.peek());
  const count = changes.value;
  useEffect(() => {
    if (count === seen.current) return;
    seen.current = count;
    reload();
  }, [count]);
}
