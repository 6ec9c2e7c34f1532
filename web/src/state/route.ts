import { computed, signal } from "@preact/signals";
import { at, within } from "../lib/base";

/** Where the page is: path and query, as in the address bar. */
export interface Place {
  readonly path: string;
  readonly search: string;
}

function here(): Place {
  return { path: within(location.pathname), search: location.search };
}

export const place = signal<Place>(here());

/** The query of the address, parsed. */
export const searchParams = computed(() => new URLSearchParams(place.value.search));

/** Identifies this entry of the browser's history: state such as the scroll position is kept under it. */
let entry = entryKey() ?? newEntry();

function entryKey(): string | null {
  const state: unknown = history.state;
  if (typeof state === "object" && state !== null && "entry" in state && typeof state.entry === "string")
    return state.entry;
  return null;
}

function newEntry(): string {
  return Math.random().toString(36).slice(2);
}

const scrolls = new Map<string, number>();

/** The scroll position that this history entry had when it was left, once. */
export function takeScroll(): number | null {
  const top = scrolls.get(entry) ?? null;
  scrolls.delete(entry);
  return top;
}

/** The row that had the focus when a history entry was left. */
const rows = new Map<string, string>();

function keepPlace(): void {
  scrolls.set(entry, window.scrollY);
  const row = document.activeElement?.closest<HTMLElement>("[data-id]")?.dataset["id"];
  if (row !== undefined) rows.set(entry, row);
}

/** Gives the focus back to the row of this list that had it when this history entry was left, once. */
export function takeRowFocus(list: HTMLElement | null): void {
  const id = rows.get(entry);
  if (id === undefined || list === null) return;
  const row = [...list.querySelectorAll<HTMLElement>("[data-id]")].find((each) => each.dataset["id"] === id);
  if (row === undefined) return;
  rows.delete(entry);
  headingWanted = false;
  row.focus({ preventScroll: true });
}

/** Whether the heading of the page that comes now gets the focus, so that screen readers and keys begin there. */
let headingWanted = false;

/** Gives the focus to the heading of a page that has just been gone to; false if it was not wanted. */
export function takeHeadingFocus(heading: HTMLElement): boolean {
  if (!headingWanted || rows.has(entry)) return false;
  headingWanted = false;
  focused = heading;
  heading.focus({ preventScroll: true });
  return true;
}

/** The heading that was given the focus last. */
let focused: HTMLElement | null = null;

/** The heading that had the focus goes, as a loading page's does: that of the page itself gets it. */
export function passHeadingFocus(heading: HTMLElement): void {
  // Where the focus has gone elsewhere meanwhile, it stays; that of a heading which is no longer there is the body's.
  if (focused === heading && (document.activeElement === heading || document.activeElement === document.body))
    headingWanted = true;
}

/**
 * Goes to an address of the dashboard; `replace` for changes that "back" should not visit, such as typing in a filter.
 */
export function navigate(href: string, { replace = false } = {}): void {
  const url = new URL(at(href), location.href);
  if (url.pathname === location.pathname && url.search === location.search && url.hash === location.hash) return;
  const samePage = url.pathname === location.pathname;
  if (replace) history.replaceState({ entry }, "", url);
  else {
    keepPlace();
    entry = newEntry();
    if (!samePage) headingWanted = true;
    history.pushState({ entry }, "", url);
    if (!samePage) window.scrollTo(0, 0);
  }
  place.value = here();
}

/** Changes some parameters of the query and keeps the others; an empty or null value removes one. */
export function setParams(changes: Readonly<Record<string, string | null>>, options?: { replace?: boolean }): void {
  const params = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") params.delete(name);
    else params.set(name, value);
  }
  const text = params.toString();
  navigate(within(location.pathname) + (text === "" ? "" : `?${text}`), options);
}

/** A click that stays in this tab, and that nothing else has taken. */
export function isPlainClick(event: MouseEvent): boolean {
  return (
    event.button === 0 &&
    !event.defaultPrevented &&
    !event.metaKey &&
    !event.ctrlKey &&
    !event.shiftKey &&
    !event.altKey
  );
}

function onClick(event: MouseEvent): void {
  if (!isPlainClick(event) || !(event.target instanceof Element)) return;
  const anchor = event.target.closest("a");
  if (anchor === null || anchor.origin !== location.origin || anchor.target !== "" || anchor.hasAttribute("download"))
    return;
  if (anchor.dataset["external"] !== undefined || within(anchor.pathname).startsWith("/graphiql")) return;
  if (anchor.hash !== "" && anchor.pathname === location.pathname && anchor.search === location.search) return;
  event.preventDefault();
  navigate(anchor.href);
}

/** Takes over links, back and forward. */
export function startRouter(): void {
  history.scrollRestoration = "manual";
  history.replaceState({ entry }, "");
  document.addEventListener("click", onClick);
  window.addEventListener("popstate", () => {
    keepPlace();
    entry = entryKey() ?? newEntry();
    headingWanted = within(location.pathname) !== place.value.path;
    place.value = here();
  });
}
