import { effect, type Signal, signal } from "@preact/signals";

/** A value that this browser keeps as JSON under a key; what is stored there and makes no sense counts as nothing. */
export function stored<T>(key: string, read: (value: unknown) => T): Signal<T> {
  const kept = signal(read(parse(localStorage.getItem(key))));
  effect(() => localStorage.setItem(key, JSON.stringify(kept.value)));
  return kept;
}

function parse(text: string | null): unknown {
  try {
    return text === null ? null : JSON.parse(text);
  } catch {
    // Somebody else's text under our key: as good as none.
    return null;
  }
}
