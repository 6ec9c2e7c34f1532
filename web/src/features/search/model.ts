/**
 * The language of the search field: `job:import outcome:failed >5s label:customer=42 "time out"`, to and from the
 * address. Pure.
 */
import { secondsOf } from "../../lib/time";
import type { NameKind } from "../../services/suggest";

/** A value that a term may have, as the address has it, and as a word. */
export type Option = readonly [value: string, word: string];

/** One thing that a list can be filtered by. */
export interface Term {
  /** What it begins with: `job:`, `>`. */
  readonly prefix: string;
  /** The parameter of the address. */
  readonly param: string;
  readonly label: string;
  /** Its values are one of these, */
  readonly options?: readonly Option[];
  /** or names of this kind, in full if `exact`, */
  readonly names?: NameKind;
  readonly exact?: boolean;
  /** or a label, a time, a number. */
  readonly form?: "label" | "duration" | "number";
  /** The page shows it by its tabs: it gets no chip, and is not one of the filters that are cleared. */
  readonly tab?: boolean;
}

/** What a list can be searched by. */
export interface Vocabulary {
  /** What words without a prefix are looked for in. */
  readonly label: string;
  /** The parameter of the address that holds these words. */
  readonly param: string;
  readonly terms: readonly Term[];
}

/** What stands in the search field. */
export interface Search {
  /** Words without a prefix. */
  readonly free: string;
  /** Values by the parameters of the address. */
  readonly terms: ReadonlyMap<string, string>;
}

interface Token {
  /** As it is typed. */
  readonly raw: string;
  readonly start: number;
  readonly end: number;
}

const TOKEN = /(?:"(?:\\.|[^"\\])*"?|[^\s"])+/gs;
const QUOTED = /"((?:\\.|[^"\\])*)"?/gs;

function tokens(text: string): readonly Token[] {
  return [...text.matchAll(TOKEN)].map(({ 0: raw, index }) => ({ raw, start: index, end: index + raw.length }));
}

function unquoted(raw: string): string {
  return raw.replace(QUOTED, (_, inner: string) => inner.replace(/\\(["\\])/g, "$1"));
}

function quoted(value: string): string {
  return `"${value.replace(/["\\]/g, "\\$&")}"`;
}

/** `TIMED_OUT`, `timed out` and `timed-out` are the same word. */
function slug(text: string): string {
  return text.toLowerCase().replace(/[\s_]+/g, "-");
}

function writtenOption([value, word]: Option): string {
  return slug(/^\d+$/.test(value) ? word : value);
}

/** The value of a term as the address has it. */
function readValue(term: Term, written: string): string {
  if (term.form === "label") return written.replace(/[=:]/, ":").replace(/^([^:]*):$/, "$1");
  const option = term.options?.find((each) => [slug(each[0]), slug(each[1])].includes(slug(written)));
  return option?.[0] ?? written;
}

/** The value of a term as one writes it. */
function writtenValue(term: Term, value: string): string {
  if (term.form === "label") return value.replace(":", "=");
  const option = term.options?.find(([known]) => known === value);
  return option === undefined ? value : writtenOption(option);
}

/** A term as one writes it: `label:customer=42`. */
export function written(term: Term, value: string): string {
  const text = writtenValue(term, value);
  return term.prefix + (/[\s"]/.test(text) ? quoted(text) : text);
}

/** Whether a value makes sense to the term. */
export function isKnown(term: Term, value: string): boolean {
  if (term.form === "duration") return secondsOf(value) !== null;
  if (term.form === "number") return /^\d+$/.test(value);
  return (
    term.options === undefined ||
    term.options.some(([known]) => known === (term.tab === true ? value.toUpperCase() : value))
  );
}

function termOf({ terms }: Vocabulary, raw: string): Term | undefined {
  // `<div>` is no duration.
  return terms.find(
    ({ prefix, form }) =>
      raw.toLowerCase().startsWith(prefix) &&
      (form !== "duration" || /^\d?$/.test(raw.slice(prefix.length, prefix.length + 1))),
  );
}

/** Reads what is typed; of two terms of a kind the later one counts, and one without a value is left out. */
export function readSearch(vocabulary: Vocabulary, text: string): Search {
  const terms = new Map<string, string>();
  const free: string[] = [];
  for (const { raw } of tokens(text)) {
    const term = termOf(vocabulary, raw);
    const value = term === undefined ? "" : readValue(term, unquoted(raw.slice(term.prefix.length)));
    if (term === undefined) free.push(unquoted(raw));
    else if (value !== "") terms.set(term.param, value);
  }
  return { free: free.join(" "), terms };
}

/** Words without a prefix as one types them: in quotes where they would be read as something else. */
export function writtenFree(vocabulary: Vocabulary, free: string): string {
  const read = readSearch(vocabulary, free);
  return read.free === free && read.terms.size === 0 ? free : quoted(free);
}

/** The whole search as one would type it. */
export function writtenSearch(vocabulary: Vocabulary, { free, terms }: Search): string {
  const parts = vocabulary.terms.flatMap((term) => {
    const value = terms.get(term.param) ?? "";
    return value === "" ? [] : [written(term, value)];
  });
  return [...parts, writtenFree(vocabulary, free)].filter((part) => part !== "").join(" ");
}

/** The search that an address holds. */
export function searchOf({ param, terms }: Vocabulary, params: Pick<URLSearchParams, "get">): Search {
  const values = terms.flatMap((term): (readonly [string, string])[] => {
    const value = params.get(term.param) ?? "";
    return value === "" ? [] : [[term.param, value]];
  });
  return { free: params.get(param) ?? "", terms: new Map(values) };
}

/** What an address says after `?` for a search; nothing else is in it. */
export function addressOf({ param }: Vocabulary, { free, terms }: Search): URLSearchParams {
  const params = new URLSearchParams([...terms]);
  if (free !== "") params.set(param, free);
  return params;
}

/** The filters of a list by their parameters: what "Clear filters" takes away. */
export function filtersOf({ param, terms }: Vocabulary): readonly string[] {
  return [param, ...terms.filter(({ tab }) => tab !== true).map((term) => term.param)];
}

/** What is typed, taken apart while one types. */
export interface Draft {
  /** Terms that are complete. */
  readonly done: ReadonlyMap<string, string>;
  /** What is left to be typed on. */
  readonly rest: string;
  /** The words in that to look for now; a beginning of a term is not yet one. */
  readonly free: string;
}

/** Takes what is typed apart; the last word counts once something stands behind it, or when `whole`. */
export function readDraft(vocabulary: Vocabulary, text: string, whole: boolean): Draft {
  const all = tokens(text);
  const last = all.at(-1);
  const open = !whole && last !== undefined && last.end === text.length ? last : undefined;
  let rest = text;
  const done = new Map<string, string>();
  for (const token of [...all].reverse()) {
    const { terms } = readSearch(vocabulary, token.raw);
    if (token === open || terms.size === 0) continue;
    for (const [param, value] of terms) if (!done.has(param)) done.set(param, value);
    rest = rest.slice(0, token.start) + rest.slice(token.end).trimStart();
  }
  const unsure =
    open !== undefined &&
    (termOf(vocabulary, open.raw) !== undefined ||
      vocabulary.terms.some(({ prefix }) => prefix.startsWith(open.raw.toLowerCase())));
  const settled = unsure ? rest.slice(0, rest.length - open.raw.length) : rest;
  return { done: new Map([...done].reverse()), rest, free: readSearch(vocabulary, settled).free };
}

/** The word that is being typed. */
export interface Typing {
  /** The term that it belongs to, once its prefix is there. */
  readonly term: Term | null;
  /** What is typed of the value, as the address would have it, or of the prefix. */
  readonly typed: string;
}

function openToken(text: string): string {
  const last = tokens(text).at(-1);
  return last !== undefined && last.end === text.length ? last.raw : "";
}

export function typingOf(vocabulary: Vocabulary, text: string): Typing {
  const raw = openToken(text);
  const term = termOf(vocabulary, raw) ?? null;
  if (term === null) return { term, typed: raw };
  const value = unquoted(raw.slice(term.prefix.length));
  return { term, typed: term.form === "label" ? value.replace("=", ":") : value };
}

/** One line below the field. */
export interface Offer {
  /** As it is written. */
  readonly text: string;
  /** What it means. */
  readonly meaning: string;
  /** Whether the term is complete with it. */
  readonly complete: boolean;
}

/** So many are offered at most. */
const MOST = 12;

/**
 * What could be typed on: prefixes, or, behind one, values. `names` are those that the server has for what is typed.
 */
export function offersFor(vocabulary: Vocabulary, { term, typed }: Typing, names: readonly string[]): readonly Offer[] {
  if (term === null) {
    const begun = vocabulary.terms.filter(({ prefix }) => prefix.startsWith(typed.toLowerCase()));
    return begun.map(({ prefix, label, form }) => ({
      text: prefix,
      meaning: form === "duration" ? `${label}, such as ${prefix}5s` : label,
      complete: false,
    }));
  }
  const options = (term.options ?? []).filter(([value, word]) => slug(`${value} ${word}`).includes(slug(typed)));
  const offered =
    term.options === undefined
      ? names.map((name) => ({
          text: written(term, name) + (isLabelKey(term, name) ? "=" : ""),
          meaning: "",
          complete: !isLabelKey(term, name),
        }))
      : options.map(([value, word]) => ({ text: written(term, value), meaning: word, complete: true }));
  return offered.slice(0, MOST);
}

/** Behind the key of a label comes its value. */
function isLabelKey({ form }: Term, name: string): boolean {
  return form === "label" && !name.includes(":");
}

/** What is typed with the offer in place of its last word. */
export function withOffer(text: string, offer: Offer): string {
  return text.slice(0, text.length - openToken(text).length) + offer.text;
}
