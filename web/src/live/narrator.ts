import { effect } from "@preact/signals";
import type { LiveEvent } from "../api/fragments";
import { plural } from "../lib/format";
import { isFailure } from "../model/log-filter";
import { announce } from "../state/announce";
import type { Feed } from "./feed";
import type { Link } from "./link";

/** Failures of this long are told in one sentence. */
const BATCH = 5_000;

/** What to say of some failures: `import_orders failed`, `3 executions failed: import_orders, nightly`. */
export function failureSentence(names: readonly string[]): string {
  const distinct = [...new Set(names)];
  const [only] = distinct;
  if (names.length === 1 && only !== undefined) return `${only} failed`;
  const shown = distinct.slice(0, 3).join(", ");
  return `${plural(names.length, "execution")} failed: ${shown}${distinct.length > 3 ? " and others" : ""}`;
}

function failedName({ outcome, taskName, jobName }: LiveEvent): string | null {
  return typeof outcome === "string" && isFailure(outcome) ? (taskName ?? jobName ?? null) : null;
}

/** Tells screen readers what cannot wait: failures, and the connection. Everything else is there to be read. */
export function startNarrator(feed: Feed, link: Link): void {
  let names: string[] = [];
  feed.listen({
    event: (event) => {
      const name = failedName(event);
      if (name === null) return;
      names.push(name);
      if (names.length > 1) return;
      setTimeout(() => {
        announce(failureSentence(names));
        names = [];
      }, BATCH);
    },
    resync: () => undefined,
    connected: () => undefined,
  });
  let wasDown = false;
  effect(() => {
    const { kind } = link.state.value;
    if (kind === "waiting" && !wasDown) announce("The connection to the server is lost");
    if (kind === "live" && wasDown) announce("The connection to the server is back");
    if (kind !== "connecting") wasDown = kind === "waiting";
  });
}
