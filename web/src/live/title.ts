import { effect, signal } from "@preact/signals";
import { at } from "../lib/base";
import { health } from "./health";

const page = signal("Cronograph");

/** Names the page in the browser's tab. */
export function setTitle(name: string): void {
  page.value = name;
}

/** Writes title and icon; failures of the last day that are news show in both, on every page. */
export function startTitle(): void {
  effect(() => {
    const failed = health.value?.unknownFailedLast24h ?? 0;
    document.title = `${failed > 0 ? `(${failed}) ` : ""}${page.value} · Cronograph`;
    const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
    const href = failed > 0 ? at("/icon-failed.svg") : at("/icon.svg");
    if (icon !== null && icon.getAttribute("href") !== href) icon.setAttribute("href", href);
  });
}
