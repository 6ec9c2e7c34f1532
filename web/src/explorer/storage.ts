/**
 * What GraphiQL keeps in the browser: its tabs, and the text of the one that is open.
 *
 * It writes the tabs when the page opens, the text only once somebody has typed; on the next visit it looks for the tab
 * with that text and, finding none, opens an empty one.
 */
const TABS = "graphiql:tabState";

/** The two texts of a tab by which it is found again, and the names under which they are kept. */
const TEXTS = { query: "graphiql:query", variables: "graphiql:variables" } as const;

function activeTab(stored: string | null): unknown {
  if (stored === null) return null;
  try {
    const state = JSON.parse(stored) as { activeTabIndex?: number; tabs?: unknown[] } | null;
    return state?.tabs?.[state.activeTabIndex ?? -1];
  } catch {
    // GraphiQL begins with its default tabs where it cannot read them.
    return null;
  }
}

/** Keep the texts of the open tab where none is kept yet, so that the next visit finds it as it was left. */
export function keepActiveTab(storage: Pick<Storage, "getItem" | "setItem">): void {
  const tab = activeTab(storage.getItem(TABS));
  if (typeof tab !== "object" || tab === null) return;
  for (const [name, key] of Object.entries(TEXTS)) {
    const text: unknown = (tab as Record<string, unknown>)[name];
    if (storage.getItem(key) === null && typeof text === "string") storage.setItem(key, text);
  }
}
