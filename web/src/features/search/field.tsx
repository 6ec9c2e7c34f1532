import { useEffect, useId, useRef, useState } from "preact/hooks";
import { type SavedView, viewsLike } from "../../model/views";
import { UnknownValue } from "../../parts/filters";
import { useNames } from "../../services/suggest";
import { useViews } from "../../services/views";
import { navigate, place, searchParams, setParams } from "../../state/route";
import { Icon } from "../../ui/icon";
import {
  isKnown,
  type Offer,
  offersFor,
  readDraft,
  searchOf,
  type Term,
  typingOf,
  type Vocabulary,
  withOffer,
  written,
  writtenFree,
} from "./model";

const TYPING_PAUSE = 250;
/** So many saved views are offered at most. */
const MOST_VIEWS = 5;

/**
 * One field for all that a list can be searched by: terms become chips, words take effect when one pauses. All of it
 * lives in the address.
 */
export function SearchField({ vocabulary }: { vocabulary: Vocabulary }) {
  const search = searchOf(vocabulary, searchParams.value);
  const [typed, setTyped] = useState(() => writtenFree(vocabulary, search.free));
  const [focused, setFocused] = useState(false);
  /** The offer that Enter takes; -1 for what is typed. */
  const [chosen, setChosen] = useState(-1);
  const [closed, setClosed] = useState(false);
  const applied = useRef(search.free);
  const field = useRef<HTMLInputElement>(null);
  const list = useId();
  const typing = typingOf(vocabulary, typed);
  const names = useNames(typing.term?.names ?? null, typing.typed, focused);
  const open = focused && !closed;
  const views = viewsLike(useViews(focused)?.views ?? [], place.value.path, typed).slice(0, open ? MOST_VIEWS : 0);
  const offers = open ? offersFor(vocabulary, typing, names) : [];
  // Behind the offers of what can be typed, the saved views by name.
  const lines = offers.length + views.length;
  const current = Math.min(chosen, lines - 1);

  /** Takes over what is typed: complete terms go to the address and leave the field. */
  const apply = (text: string, whole: boolean): void => {
    const { done, rest, free } = readDraft(vocabulary, text, whole);
    if (done.size === 0 && free === search.free) return;
    applied.current = free;
    setTyped(rest);
    // What stands below the field can be pressed once a term is in effect; who types on is offered terms again.
    if (done.size > 0) setClosed(true);
    setParams({ ...Object.fromEntries(done), [vocabulary.param]: free, after: null }, { replace: done.size === 0 });
  };
  useEffect(() => {
    // What this field has set itself comes back without what was typed since.
    if (search.free === applied.current) return;
    applied.current = search.free;
    setTyped(writtenFree(vocabulary, search.free));
  }, [search.free]);
  useEffect(() => {
    // Who has left the field has typed all; what was pressed instead is not pulled away under the pointer.
    const { done, free } = readDraft(vocabulary, typed, !focused);
    if (done.size === 0 && free === applied.current) return undefined;
    // By then more may have been typed than was drawn.
    const timer = window.setTimeout(
      () => apply(field.current?.value ?? typed, !focused),
      focused && done.size > 0 ? 0 : TYPING_PAUSE,
    );
    return () => window.clearTimeout(timer);
  }, [typed, focused]);
  useEffect(() => document.getElementById(`${list}-${current}`)?.scrollIntoView({ block: "nearest" }), [current]);

  const write = (text: string): void => {
    setTyped(text);
    setChosen(-1);
    setClosed(false);
  };
  const take = (offer: Offer): void => {
    const text = withOffer(typed, offer);
    write(text);
    if (!offer.complete) return;
    apply(text, true);
    setClosed(true);
  };
  const openView = (view: SavedView): void => {
    applied.current = "";
    setTyped("");
    setClosed(true);
    navigate(view.page + view.search);
  };
  /** Back to text, to be changed. */
  const change = (term: Term, value: string): void => {
    setParams({ [term.param]: null, after: null });
    write([typed.trim(), written(term, value)].filter((part) => part !== "").join(" "));
    field.current?.focus();
  };
  const chips = vocabulary.terms.flatMap((term): readonly (readonly [Term, string])[] => {
    const value = search.terms.get(term.param);
    return value === undefined || (term.tab === true && isKnown(term, value)) ? [] : [[term, value]];
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const offer = offers[current];
    const view = views[current - offers.length];
    const last = chips.at(-1);
    if (step !== 0 && lines > 0)
      setChosen(current + step < -1 ? lines - 1 : current + step >= lines ? -1 : current + step);
    else if (step !== 0) setClosed(false);
    else if (event.key === "Enter" && offer !== undefined) take(offer);
    else if (event.key === "Enter" && view !== undefined) openView(view);
    else if (event.key === "Enter") {
      apply(typed, true);
      setClosed(true);
    } else if (event.key === "Backspace" && typed === "" && last !== undefined) change(...last);
    else if (event.key === "Escape" && lines > 0) setClosed(true);
    else if (event.key === "Escape") field.current?.blur();
    else return;
    event.preventDefault();
  };
  return (
    <div class="search" onClick={(event) => event.target === event.currentTarget && field.current?.focus()}>
      <Icon name="search" />
      {chips.map(([term, value]) => (
        <Chip key={term.param} term={term} value={value} change={() => change(term, value)} />
      ))}
      <input
        ref={field}
        class="search-input"
        role="combobox"
        aria-label={vocabulary.label}
        aria-autocomplete="list"
        aria-expanded={lines > 0}
        aria-controls={list}
        aria-activedescendant={current >= 0 ? `${list}-${current}` : undefined}
        placeholder={chips.length === 0 ? `${vocabulary.label}  /` : ""}
        value={typed}
        data-search=""
        autocomplete="off"
        autocapitalize="off"
        enterkeyhint="search"
        spellcheck={false}
        onInput={(event) => write(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        onClick={() => setClosed(false)}
        onFocus={() => {
          setFocused(true);
          setClosed(false);
          setChosen(-1);
        }}
        onBlur={() => setFocused(false)}
      />
      <ul id={list} class="search-offers" role="listbox" aria-label="What can be typed" hidden={lines === 0}>
        {offers.map((offer, at) => (
          // Before the field loses the focus.
          <li
            key={offer.text}
            id={`${list}-${at}`}
            role="option"
            aria-selected={at === current}
            onPointerDown={(event) => event.preventDefault()}
            onClick={() => take(offer)}
          >
            <code>{offer.text}</code> <span class="dim">{offer.meaning}</span>
          </li>
        ))}
        {views.map((view, at) => (
          <li
            key={view.id}
            id={`${list}-${offers.length + at}`}
            role="option"
            aria-selected={offers.length + at === current}
            onPointerDown={(event) => event.preventDefault()}
            onClick={() => openView(view)}
          >
            <span>{view.name}</span> <span class="dim">{view.isShared ? "saved view of the team" : "saved view"}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** A term that is in effect; one whose value makes no sense says so. */
function Chip({ term, value, change }: { term: Term; value: string; change: () => void }) {
  if (!isKnown(term, value)) return <UnknownValue name={term.param} label={term.label} known={[]} />;
  const text = written(term, value);
  return (
    <span class="search-chip">
      <button
        type="button"
        class="search-chip-text"
        aria-label={`Change ${text}`}
        title={`${term.label}: press to change`}
        onClick={change}
      >
        <span class="dim">{term.prefix}</span>
        {text.slice(term.prefix.length)}
      </button>
      <button
        type="button"
        class="chip-button"
        aria-label={`Leave out ${text}`}
        onClick={() => setParams({ [term.param]: null, after: null })}
      >
        <Icon name="close" />
      </button>
    </span>
  );
}
