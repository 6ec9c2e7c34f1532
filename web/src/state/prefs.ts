import { effect, signal } from "@preact/signals";
import type { Zone } from "../lib/time";
import { storedTheme, THEME_KEY, type Theme } from "./stored-theme";

export type { Theme } from "./stored-theme";

const ZONE_KEY = "cronograph.zone";
const DENSITY_KEY = "cronograph.density";
const WRAP_KEY = "cronograph.wrap";

/** Each row of a list in one line, or with second lines for who chooses so. */
export type Density = "comfortable" | "compact";

function stored<T extends string>(key: string, allowed: readonly T[], fallback: T): T {
  const value = localStorage.getItem(key);
  return allowed.find((candidate) => candidate === value) ?? fallback;
}

/** Light, dark, or as the system has it. The explorer reads the same key. */
export const theme = signal<Theme>(storedTheme());

/** Whether times are shown in UTC or in the browser's zone: one choice for the whole page. */
export const zone = signal<Zone>(stored(ZONE_KEY, ["utc", "local"], "utc"));

export const density = signal<Density>(stored(DENSITY_KEY, ["comfortable", "compact"], "compact"));

/** Whether long lines of a log go on in the next one. */
export const wrapLines = signal(stored(WRAP_KEY, ["yes", "no"], "yes") === "yes");

/** What the chosen zone is called. */
export function zoneWord(): string {
  return zone.value === "utc" ? "UTC" : "local time";
}

/** Writes the choices to the page and to the browser's storage whenever they change. */
export function startPrefs(): void {
  effect(() => {
    if (theme.value === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme.value;
    localStorage.setItem(THEME_KEY, theme.value);
  });
  effect(() => localStorage.setItem(ZONE_KEY, zone.value));
  effect(() => localStorage.setItem(DENSITY_KEY, density.value));
  effect(() => localStorage.setItem(WRAP_KEY, wrapLines.value ? "yes" : "no"));
}
