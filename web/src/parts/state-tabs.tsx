import { useLayoutEffect, useRef } from "preact/hooks";
import { statusView } from "../lib/status";
import { setParams } from "../state/route";

export interface StateTab<State extends string> {
  readonly state: State;
  /** How it is called, unless as the state is everywhere. */
  readonly word?: string;
  /** What the address says of it, unless its name. */
  readonly param?: string;
  /** How many there are; nothing while that is not known. */
  readonly count: string;
}

interface StateTabsProps<State extends string> {
  /** What has the states. */
  label: string;
  tabs: readonly StateTab<State>[];
  chosen: State;
  /** The state that the address does not name. */
  usual?: State;
}

/** Chooses the state of what a list shows, in the address; on a phone the chosen one is scrolled into view. */
export function StateTabs<State extends string>({ label, tabs, chosen, usual }: StateTabsProps<State>) {
  const present = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const tab = present.current;
    const bar = tab?.parentElement;
    if (tab === null || bar === null || bar === undefined || bar.scrollWidth <= bar.clientWidth) return;
    bar.scrollLeft = tab.offsetLeft - bar.offsetLeft - (bar.clientWidth - tab.offsetWidth) / 2;
  }, [chosen]);
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ state, word, param = state, count }) => (
        <button
          key={state}
          ref={state === chosen ? present : null}
          type="button"
          class="tab"
          aria-current={state === chosen ? "true" : undefined}
          onClick={() => setParams({ state: state === usual ? null : param, after: null })}
        >
          {word ?? statusView(state).word} <span class="tab-count num">{count}</span>
        </button>
      ))}
    </nav>
  );
}
