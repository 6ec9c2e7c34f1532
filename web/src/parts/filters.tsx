import { useEffect, useId, useRef, useState } from "preact/hooks";
import { type NameKind, useNames } from "../services/suggest";
import { searchParams, setParams } from "../state/route";
import { Icon } from "../ui/icon";

const TYPING_PAUSE = 250;

interface TextFilterProps {
  /** The parameter of the address that it sets. */
  name: string;
  value: string;
  label: string;
  /** Names of this kind are offered while one types. */
  names?: NameKind;
  /** The name in full is wanted, not a part of it: it takes effect when it is chosen, or with Enter. */
  exact?: boolean;
}

/** A text filter: takes effect when one pauses typing, and lives in the address. */
export function TextFilter({ name, value, label, names, exact = false }: TextFilterProps) {
  const [typed, setTyped] = useState(value);
  const [focused, setFocused] = useState(false);
  const applied = useRef(value);
  const offered = useNames(names ?? null, typed, focused);
  const list = useId();
  const apply = (text: string): void => {
    applied.current = text.trim();
    setParams({ [name]: applied.current, after: null }, { replace: true });
  };
  useEffect(() => {
    // What this field has set itself comes back without what was typed since, and without the space before the next
    // word.
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
        class="input filter-text"
        type="search"
        aria-label={label}
        placeholder={label}
        value={typed}
        list={names === undefined ? undefined : list}
        autocomplete="off"
        onInput={(event) => setTyped(event.currentTarget.value)}
        onChange={({ currentTarget }) => {
          // Who leaves the field, or the sheet that it is in, does not wait for the pause.
          if (currentTarget.value.trim() !== applied.current) apply(currentTarget.value);
        }}
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
  /** What the address may call the empty choice. */
  usual?: string;
  options: readonly (readonly [value: string, word: string])[];
}

export function SelectFilter({ name, value, label, all, usual = "", options }: SelectFilterProps) {
  return (
    <>
      <select
        class="select filter-select"
        aria-label={label}
        value={value}
        onChange={(event) => setParams({ [name]: event.currentTarget.value, after: null })}
      >
        <option value="">{all}</option>
        {options.map(([option, word]) => (
          <option key={option} value={option}>
            {word}
          </option>
        ))}
      </select>
      <UnknownValue name={name} label={label} known={[usual, ...options.map(([option]) => option)]} />
    </>
  );
}

interface UnknownValueProps {
  name: string;
  label: string;
  known: readonly string[];
}

/** Says that the address asks for something that there is not, instead of leaving it out in silence. */
export function UnknownValue({ name, label, known }: UnknownValueProps) {
  const asked = searchParams.value.get(name) ?? "";
  if (asked === "" || known.includes(asked)) return null;
  return (
    <span class="chip chip-unknown" role="status">
      {label} “{asked}” is not known
      <button
        type="button"
        class="chip-button"
        aria-label={`Leave out ${label.toLowerCase()} “${asked}”`}
        onClick={() => setParams({ [name]: null, after: null }, { replace: true })}
      >
        <Icon name="close" />
      </button>
    </span>
  );
}

/** Takes the named filters away. */
export function ClearFilters({ names }: { names: readonly string[] }) {
  return (
    <button
      type="button"
      class="button filter-clear"
      onClick={() => setParams({ ...Object.fromEntries(names.map((name) => [name, null])), after: null })}
    >
      Clear filters
    </button>
  );
}
