import { useState } from "preact/hooks";
import { DRAFTS } from "../state/drafts";

/** What is typed into a form, kept in this tab until it is sent or thrown away: a reload does not lose it. */
export interface Draft<T> {
  readonly value: T;
  /** Whether it began with what was typed before. */
  readonly restored: boolean;
  set(value: T): void;
  /** Throws it away, with what is kept. */
  drop(): void;
}

/** A draft under a name; `initial` is what the form begins with, and what it becomes again when it is dropped. */
export function useDraft<T>(name: string, initial: T): Draft<T> {
  const key = DRAFTS + name;
  const [before] = useState(() => read<T>(key));
  const [restored, setRestored] = useState(before !== null);
  const [value, setValue] = useState<T>(before ?? initial);
  return {
    value,
    restored,
    set: (next) => {
      sessionStorage.setItem(key, JSON.stringify(next));
      setValue(next);
    },
    drop: () => {
      sessionStorage.removeItem(key);
      setRestored(false);
      setValue(initial);
    },
  };
}

function read<T>(key: string): T | null {
  const text = sessionStorage.getItem(key);
  return text === null ? null : (JSON.parse(text) as T);
}
