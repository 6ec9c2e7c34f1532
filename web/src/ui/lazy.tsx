import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { LinkError } from "../api/client";
import { link } from "../live";
import { notify } from "../state/announce";
import { ErrorBox, Skeleton } from "./feedback";
import { PageHead } from "./section";

const RETRY_AFTER = 3_000;
/** The page is loaded again at most this often, in milliseconds. */
const RELOAD_EVERY = 60_000;
const RELOADED = "cronograph.reloaded";

/**
 * Browsers remember a module that could not be fetched as missing for as long as the page lives, and after an update
 * its file has another name: once the server is there again, only a page that is loaded again helps.
 */
function reloadOnce(): void {
  const last = Number(sessionStorage.getItem(RELOADED) ?? 0);
  if (link.state.peek().kind !== "live" || Date.now() - last < RELOAD_EVERY) return;
  sessionStorage.setItem(RELOADED, String(Date.now()));
  location.reload();
}

type LazyComponent<P> = ComponentType<P> & { preload(): void };

/**
 * A page whose code is fetched when it is first shown, or before by `preload()`, so that the page is there even when
 * the server is not. A failed fetch is tried again by itself and by hand. `of`: what is shown meanwhile; a part of a
 * page has its head, and what opens over the page shows nothing.
 */
export function lazy<P extends object>(
  load: () => Promise<ComponentType<P>>,
  of: "page" | "part" | "overlay" = "page",
): LazyComponent<P> {
  // A signal, so that all that show it are drawn again: the code may come by any of them, and by `preload()`, also
  // between a first render and the effects of that render.
  const loaded = signal<ComponentType<P> | null>(null);
  const keep = (component: ComponentType<P>): void => void (loaded.value = component);
  // A failure here is no news: it shows when the page is asked for.
  const preload = (): void => void load().then(keep, () => undefined);
  function Lazy(props: P) {
    const Page = loaded.value;
    const [error, setError] = useState<Error | null>(null);
    const [attempt, setAttempt] = useState(0);
    useEffect(() => {
      if (loaded.peek() !== null) return undefined;
      let timer = 0;
      load().then(keep, (cause: unknown) => {
        const what = of === "overlay" ? "What you asked for" : "This page";
        const failure = new LinkError(
          `${what} cannot be fetched: the server cannot be reached, or has been updated (then reload)`,
          { cause },
        );
        // Over the page there is no place for it.
        if (of === "overlay" && attempt === 0) notify(failure.message, { tone: "bad" });
        setError(failure);
        timer = window.setTimeout(() => {
          reloadOnce();
          setAttempt(attempt + 1);
        }, RETRY_AFTER);
      });
      return () => window.clearTimeout(timer);
    }, [attempt]);
    if (Page !== null) return <Page {...props} />;
    if (of === "overlay") return null;
    return (
      <>
        {of === "page" && <PageHead title={error === null ? "Loading" : "Not loaded"} />}
        {error === null ? <Skeleton rows={8} /> : <ErrorBox error={error} retry={() => setAttempt(attempt + 1)} />}
      </>
    );
  }
  return Object.assign(Lazy, { preload });
}
