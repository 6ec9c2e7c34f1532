import type { Plugin } from "vite";
import { SHAPES } from "./src/lib/icons";
import { NAV } from "./src/state/pages";
import { THEME_KEY } from "./src/state/stored-theme";

const ROOT = '<div id="app"></div>';
const STYLE_SHEET = /[ \t]*<link rel="stylesheet"[^>]*>\n?/;

function icon(name: (typeof NAV)[number]["icon"]): string {
  const line = 'fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round"';
  return `<svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d="${SHAPES[name]}" ${line}></path></svg>`;
}

/**
 * The frame as `Shell` draws it when nothing has come yet. Its links are relative: `<base>` says where the dashboard
 * is.
 */
function frame(): string {
  const links = NAV.map(
    ({ href, label, icon: name }) => `<a class="nav-link" href=".${href}">${icon(name)}<span>${label}</span></a>`,
  );
  return `<div id="app"><div class="shell">
<header class="header"><a class="brand" href="./"><img src="./icon.svg" alt="" width="22" height="22"><span>Cronograph</span></a></header>
<div class="navigation"><div class="nav-toggle">${icon("menu")}<span>Pages</span></div><nav class="nav" aria-label="Pages">${links.join("")}</nav></div>
<main class="main"><div class="skeleton" aria-busy="true"><span class="visually-hidden">Loading</span>${'<span class="skeleton-row"></span>'.repeat(8)}</div></main>
</div></div>`;
}

/**
 * Which files hold the code of a page, by the first part of its path; behind a further part is the page of one thing.
 */
const FILES: Readonly<Record<string, readonly string[]>> = {
  "": ["shared", "overview"],
  tasks: ["shared", "lists"],
  runs: ["shared", "lists"],
  log: ["shared", "lists"],
  alarms: ["shared", "alarms"],
  deliveries: ["shared", "alarms"],
  ...Object.fromEntries(
    ["settings", "account", "secrets", "users", "audit", "hooks"].map((page) => [page, ["shared", "more", "admin"]]),
  ),
  schedule: ["shared", "more", "plan"],
  webhooks: ["shared", "more", "admin", "alarms", "webhooks"],
  other: ["shared", "more"],
  one: ["shared", "lists", "overview", "more", "one"],
};

/**
 * What is done before the first file comes, in the words of the page itself: the chosen theme, so that none flashes,
 * and the code of the page that the address names, so that it comes beside the frame's and not after it.
 */
function firstScript(chunks: Readonly<Record<string, string>>): string {
  const theme = `const theme = localStorage.getItem("${THEME_KEY}"); if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;`;
  if (chunks["shared"] === undefined) return `{ ${theme} }`;
  const files = Object.fromEntries(
    Object.entries(FILES).map(([page, names]) => [page, names.map((name) => `./${chunks[name]}`)]),
  );
  return `{ ${theme}
const files = ${JSON.stringify(files)};
const [page, ...one] = location.pathname.slice(new URL(document.baseURI).pathname.length).split("/");
for (const href of one.length ? files.one : files[page] ?? files.other)
document.head.append(Object.assign(document.createElement("link"), { rel: "modulepreload", crossOrigin: "", href })); }`;
}

/**
 * Writes the frame of the dashboard into its page, with the style that it needs, and puts the other style sheet after
 * it: so the frame is drawn as soon as the page has come, however slow the connection. Both scripts and styles within
 * the page are allowed by their hash, which the server adds to the policy.
 */
export function staticFrame(): Plugin {
  return {
    name: "static-frame",
    transformIndexHtml: {
      order: "post",
      handler(html, { bundle }) {
        if (!html.includes(ROOT)) return html;
        const chunks = Object.values(bundle ?? {}).filter((file) => file.type === "chunk");
        const code = Object.fromEntries(chunks.map(({ name, fileName }) => [name, fileName]));
        const sheet = STYLE_SHEET.exec(html)?.[0] ?? "";
        const page = html.replace(sheet, "").replace(ROOT, `${frame()}\n${sheet.trimEnd()}`);
        return page.replace("<style", `<script>${firstScript(code)}</script>\n    <style`);
      },
    },
  };
}
