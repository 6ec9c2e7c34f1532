import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { type NameKind, useNames } from "../services/suggest";
import { setParams } from "../state/route";

/** One line of filters above a list. */
export function FilterBar({ children }: { children: ComponentChildren }) {
  return (
    <div class="filter-bar" role="search">
      {children}
    </div>
  );
}

const TYPING_PAUSE = 250;
/** A field has room for so many characters at least, and for what it is called. */
const FEWEST_CHARACTERS = 9;

interface TextFilterProps {
  /** The parameter of the address that it sets. */
  name: string;
  value: string;
  label: string;
  /** Whether `/` goes here. */
  main?: boolean;
  /** Names of this kind are offered while one types. */
  names?: NameKind;
  /** The name in full is wanted, not a part of it: it takes effect when it is chosen, or with Enter. */
  exact?: boolean;
}

/** A text filter: takes effect when one pauses typing, and lives in the address. */
export function TextFilter({ name, value, label, main = false, names, exact = false }: TextFilterProps) {
  const [typed, setTyped] = useState(value);
  const [focused, setFocused] = useState(false);
  const applied = useRef(value);
  const offered = useNames(names ?? null, typed, focused);
  const list = useId();
  const placeholder = main ? `${label}  /` : label;
  const apply = (text: string): void => {
    applied.current = text.trim();
    setParams({ [name]: applied.current, after: null }, { replace: true });
  };
  useEffect(() => {
    // What this field has set itself comes back without what was typed since, and without the space before the next word.
    if (value === applied.current) return;
    applied.current = value;
    setTyped(value);
  }, [value]);
  useEffect(() => {
    if (typed === value || (exact && typed !== "" && !offered.includes(typed))) return undefined;
    const timer = window.setTimeout(() => apply(typed), TYPING_PAUSE);
    return () => window.clearTimeout(timer);
  }, [typed, offered]);
  return (
    <>
      <input
        class={main ? "input filter-text filter-main" : "input filter-text"}
        type="search"
        aria-label={label}
        placeholder={placeholder}
        size={Math.max(FEWEST_CHARACTERS, placeholder.length)}
        value={typed}
        data-search={main ? "" : undefined}
        list={names === undefined ? undefined : list}
        autocomplete="off"
        onInput={(event) => setTyped(event.currentTarget.value)}
        onChange={(event) => exact && apply(event.currentTarget.value)}
        onFocus={() => setFocused(true)}
        onBlur={() => setFocused(false)}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      {names !== undefined && (
        <datalist id={list}>
          {offered.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </>
  );
}

interface SelectFilterProps {
  name: string;
  value: string;
  label: string;
  /** What the empty choice is called. */
  all: string;
  options: readonly (readonly [value: string, word: string])[];
}

export function SelectFilter({ name, value, label, all, options }: SelectFilterProps) {
  return (
    <select class="select filter-select" aria-label={label} value={value} onChange={(event) => setParams({ [name]: event.currentTarget.value, after: null })}>
      <option value="">{all}</option>
      {options.map(([option, word]) => (
        <option key={option} value={option}>
          {word}
        </option>
      ))}
    </select>
  );
}

/** Takes the named filters away. */
export function ClearFilters({ names }: { names: readonly string[] }) {
  return (
    <button type="button" class="button" onClick={() => setParams({ ...Object.fromEntries(names.map((name) => [name, null])), after: null })}>
      Clear filters
    </button>
  );
}
