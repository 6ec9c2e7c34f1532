import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { graphql } from "../api/tada";
import { capped, cappedPlural } from "../lib/format";
import type { Page } from "../lib/paths";
import type { IconName } from "../lib/status";
import { useLive } from "../live/use-live";
import { UNSEEN_FIRINGS } from "../state/alarms";
import { WAITING_FOR_PEOPLE } from "../state/inbox";
import { NAV } from "../state/pages";
import { type Theme, theme, zone, zoneWord } from "../state/prefs";
import { Icon } from "../ui/icon";
import { LinkPill } from "./link-pill";
import { Notices } from "./notices";
import { SignInAgain } from "./sign-in-dialog";
import { Who } from "./who";

const NEXT_THEME: Readonly<Record<Theme, Theme>> = { auto: "light", light: "dark", dark: "auto" };
const THEME_ICON: Readonly<Record<Theme, IconName>> = { auto: "auto", light: "sun", dark: "moon" };

const CountsDocument = graphql(`
  query MenuCounts($filter: RunFilter, $firings: AlarmFiringFilter) {
    asOf
    runs(first: 100, filter: $filter) { totalCount edges { node { id } } }
    alarmFirings(first: 0, filter: $firings) { totalCount }
  }
`);

type Counts = ReadonlyMap<string, readonly [count: number, word: string]>;

/** How many runs wait for people, and how many alarms fire, by the pages that show them. */
function useCounts(): Counts {
  const { state } = useLive("menu-counts", {
    document: CountsDocument,
    variables: () => ({ filter: WAITING_FOR_PEOPLE, firings: UNSEEN_FIRINGS }),
    init: ({ runs, alarmFirings }) => ({
      count: runs.totalCount,
      known: runs.edges.map(({ node }) => node.id),
      firing: alarmFirings?.totalCount ?? 0,
    }),
    outdates: (event, { count, known }) =>
      event.runState === "SUSPENDED" ||
      event.kind.startsWith("ALARM_") ||
      (event.runId !== undefined && (known.includes(event.runId) || known.length < count)),
    every: 1_000,
  });
  return new Map([
    ["/inbox", [state?.count ?? 0, "waiting"]],
    ["/alarms", [state?.firing ?? 0, "firing"]],
  ]);
}

/** A count behind the name of a page; nothing, if it is none. */
function Count({ of }: { of: readonly [count: number, word: string] | undefined }) {
  if (of === undefined || of[0] === 0) return null;
  return (
    <span class="nav-count num">
      {capped(of[0])}
      <span class="visually-hidden"> {of[1]}</span>
    </span>
  );
}

/** All pages. On a phone they are behind a button that names the present one. */
function Navigation({ page, counts }: { page: Page; counts: Counts }) {
  const [open, setOpen] = useState(false);
  const current = NAV.find((entry) => entry.pages.includes(page.name));
  useEffect(() => setOpen(false), [page.name]);
  return (
    <div class="navigation">
      <button
        type="button"
        class="nav-toggle"
        aria-expanded={open}
        aria-controls="pages"
        onClick={() => setOpen(!open)}
      >
        <Icon name="menu" />
        <span>{current?.label ?? "Pages"}</span>
        <Icon name={open ? "close" : "down"} />
      </button>
      <nav id="pages" class={open ? "nav open" : "nav"} aria-label="Pages">
        {NAV.map((entry) => (
          <a
            key={entry.href}
            href={entry.href}
            class="nav-link"
            aria-current={entry.pages.includes(page.name) ? "page" : undefined}
            onClick={() => setOpen(false)}
          >
            <Icon name={entry.icon} />
            <span>{entry.label}</span>
            <Count of={counts.get(entry.href)} />
          </a>
        ))}
      </nav>
    </div>
  );
}

interface Openers {
  openHelp: () => void;
  openPalette: () => void;
}

/** How many alarms fire that nobody takes care of. A phone has it while there are some. */
function Bell({ firing }: { firing: number }) {
  const says = firing === 0 ? "No alarm fires" : cappedPlural(firing, "alarm fires", "alarms fire");
  return (
    <a
      class={firing === 0 ? "icon-button bell quiet" : "icon-button bell"}
      href="/alarms"
      aria-label={says}
      title={says}
    >
      <Icon name="bell" />
      {firing > 0 && <span class="bell-count num">{capped(firing)}</span>}
    </a>
  );
}

function Switches({ openHelp, openPalette, firing }: Openers & { firing: number }) {
  return (
    <div class="switches">
      <button
        type="button"
        class="button small palette-button"
        title="Go to a page, task, job or run (Ctrl K)"
        aria-label="Go to…"
        onClick={openPalette}
      >
        <Icon name="search" />
        <span>Go to…</span>
        <kbd>Ctrl K</kbd>
      </button>
      <Bell firing={firing} />
      <LinkPill />
      <Who />
      <button
        type="button"
        class="button small"
        title="Show times in UTC or in your own zone"
        aria-label={`Times are shown in ${zoneWord()}; switch`}
        onClick={() => (zone.value = zone.value === "utc" ? "local" : "utc")}
      >
        {zone.value === "utc" ? "UTC" : "local"}
      </button>
      <button
        type="button"
        class="icon-button theme-button"
        title={`Theme: ${theme.value}`}
        aria-label={`Theme is ${theme.value}; switch to ${NEXT_THEME[theme.value]}`}
        onClick={() => (theme.value = NEXT_THEME[theme.value])}
      >
        <Icon name={THEME_ICON[theme.value]} />
      </button>
      <button
        type="button"
        class="icon-button help-button"
        title="Keys and words (?)"
        aria-label="Help"
        onClick={openHelp}
      >
        <Icon name="help" />
      </button>
    </div>
  );
}

interface ShellProps extends Openers {
  page: Page;
  /** What is open above the page. */
  above: ComponentChildren;
  children: ComponentChildren;
}

/** What surrounds every page. */
export function Shell({ page, above, openHelp, openPalette, children }: ShellProps) {
  const [instance] = useState(() => location.host);
  const counts = useCounts();
  return (
    <div class="shell">
      <a class="skip-link" href="#main">
        Skip to the content
      </a>
      <header class="header">
        <a class="brand" href="/">
          <img src="/icon.svg" alt="" width="22" height="22" />
          <span>Cronograph</span>
          <span class="instance">{instance}</span>
        </a>
        <Switches openHelp={openHelp} openPalette={openPalette} firing={counts.get("/alarms")?.[0] ?? 0} />
      </header>
      <Navigation page={page} counts={counts} />
      <main id="main" class="main" tabIndex={-1}>
        {children}
      </main>
      <Notices />
      <SignInAgain />
      {above}
    </div>
  );
}
