import { at } from "../lib/base";
import { navigate } from "./route";

/** A page of its own: the browser has to load it. */
const EXPLORER = "/graphiql";

const GOTO = new Map([
  ["o", "/"],
  ["t", "/tasks"],
  ["r", "/runs"],
  ["l", "/log"],
  ["n", "/nodes"],
  ["j", "/jobs"],
  ["f", "/flows"],
  ["i", "/inbox"],
  ["m", "/alarms"],
  ["g", "/groups"],
  ["s", "/settings"],
  ["e", "/secrets"],
  ["u", "/users"],
  ["a", "/audit"],
  ["p", "/account"],
  ["x", EXPLORER],
]);

/** How long after `g` the second key may come. */
const CHORD_WITHIN = 1_200;

/** Whether keys belong to what is focused, because one types there or a dialog is open. */
function isBusy(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable ||
    target.matches("input, textarea, select") ||
    document.querySelector("dialog[open]") !== null
  );
}

function focusSearch(): boolean {
  const field = document.querySelector<HTMLElement>("[data-search]");
  field?.focus();
  return field !== null;
}

function rows(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("main [data-row]")];
}

function moveRow(by: 1 | -1): boolean {
  const all = rows();
  if (all.length === 0) return false;
  const current = all.findIndex((row) => row.contains(document.activeElement));
  const next = current < 0 ? (by === 1 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, current + by));
  all[next]?.focus();
  all[next]?.scrollIntoView({ block: "nearest" });
  return true;
}

/** Presses the button of the focused row that answers to this key. */
function pressInRow(key: string): boolean {
  const row = document.activeElement?.closest<HTMLElement>("[data-row]");
  const control = row?.querySelector<HTMLElement>(`[data-key="${key}"]`);
  control?.click();
  return control !== null && control !== undefined;
}

function onKey(key: string, openHelp: () => void): boolean {
  switch (key) {
    case "/":
      return focusSearch();
    case "?":
      openHelp();
      return true;
    case "j":
      return moveRow(1);
    case "k":
      return moveRow(-1);
    case "Enter":
      return document.activeElement?.matches("[data-row]") === true && pressInRow("Enter");
    case "x":
    case "r":
    case "c":
    case "y":
      return pressInRow(key);
    default:
      return false;
  }
}

/** Ctrl K, or ⌘ K: from within a field, too. */
function isPaletteKey({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean {
  return key.toLowerCase() === "k" && ctrlKey !== metaKey && !altKey && !shiftKey;
}

interface KeyActions {
  openHelp(): void;
  openPalette(): void;
  /** Whether something opens over the page, though its code may not be there yet. */
  isCovered(): boolean;
}

/** The keys of the dashboard; but for that of the palette none of them acts while one types or a dialog is open. */
export function startKeys({ openHelp, openPalette, isCovered }: KeyActions): void {
  let chordUntil = 0;
  document.addEventListener("keydown", (event) => {
    if (isPaletteKey(event)) {
      event.preventDefault();
      if (document.querySelector("dialog[open]") === null) openPalette();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isCovered() || isBusy(event.target)) return;
    const chord = event.timeStamp < chordUntil;
    chordUntil = !chord && event.key === "g" ? event.timeStamp + CHORD_WITHIN : 0;
    const goal = chord ? GOTO.get(event.key) : undefined;
    if (goal === EXPLORER) location.assign(at(goal));
    else if (goal !== undefined) navigate(goal);
    else if (!onKey(event.key, openHelp)) return;
    event.preventDefault();
  });
}
