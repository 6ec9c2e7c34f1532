import { computed, signal } from "@preact/signals";

/** Where the page is: path and query, as in the address bar. */
export interface Place {
  readonly path: string;
  readonly search: string;
}

function here(): Place {
  return { path: location.pathname, search: location.search };
}

export const place = signal<Place>(here());

/** The query of the address, parsed. */
export const searchParams = computed(() => new URLSearchParams(place.value.search));

/** Identifies this entry of the browser's history: state such as the scroll position is kept under it. */
let entry = entryKey() ?? newEntry();

function entryKey(): string | null {
  const state: unknown = history.state;
  if (typeof state === "object" && state !== null && "entry" in state && typeof state.entry === "string") return state.entry;
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

/** The key of the current history entry, for what should come back with "back". */
export function historyEntry(): string {
  return entry;
}

/** Goes to an address of the dashboard; `replace` for changes that "back" should not visit, such as typing in a filter. */
export function navigate(href: string, { replace = false } = {}): void {
  const url = new URL(href, location.href);
  if (url.pathname === location.pathname && url.search === location.search && url.hash === location.hash) return;
  const samePage = url.pathname === location.pathname;
  if (replace) history.replaceState({ entry }, "", url);
  else {
    scrolls.set(entry, window.scrollY);
    entry = newEntry();
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
  navigate(location.pathname + (text === "" ? "" : `?${text}`), options);
}

function isPlainClick(event: MouseEvent): boolean {
  return event.button === 0 && !event.defaultPrevented && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
}

function onClick(event: MouseEvent): void {
  if (!isPlainClick(event) || !(event.target instanceof Element)) return;
  const anchor = event.target.closest("a");
  if (anchor === null || anchor.origin !== location.origin || anchor.target !== "" || anchor.hasAttribute("download")) return;
  if (anchor.dataset["external"] !== undefined || anchor.pathname.startsWith("/graphiql")) return;
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
    scrolls.set(entry, window.scrollY);
    entry = entryKey() ?? newEntry();
    place.value = here();
  });
}
