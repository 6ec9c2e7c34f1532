import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { LinkError } from "../graphql/client";
import { PageHead } from "./section";
import { ErrorBox, Skeleton } from "./feedback";

const RETRY_AFTER = 3_000;

type LazyComponent<P> = ComponentType<P> & { preload(): void };

/**
 * A page whose code is fetched when it is first shown, or before by `preload()`, so that the page is there even when
 * the server is not. A failed fetch is tried again by itself and by hand.
 */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): LazyComponent<P> {
  let loaded: ComponentType<P> | null = null;
  const keep = (component: ComponentType<P>): ComponentType<P> => (loaded = component);
  // A failure here is no news: it shows when the page is asked for.
  const preload = (): void => void load().then(keep, () => undefined);
  function Lazy(props: P) {
    const [Page, setPage] = useState<{ readonly component: ComponentType<P> | null }>({ component: loaded });
    const [error, setError] = useState<Error | null>(null);
    const [attempt, setAttempt] = useState(0);
    useEffect(() => {
      if (loaded !== null) return undefined;
      let timer = 0;
      load().then(
        (component) => setPage({ component: keep(component) }),
        (cause: unknown) => {
          setError(new LinkError("This page cannot be fetched: the server cannot be reached, or has been updated (then reload)", { cause }));
          timer = window.setTimeout(() => setAttempt(attempt + 1), RETRY_AFTER);
        },
      );
      return () => window.clearTimeout(timer);
    }, [attempt]);
    if (Page.component !== null) return <Page.component {...props} />;
    return (
      <>
        <PageHead title={error === null ? "Loading" : "Not loaded"} />
        {error === null ? <Skeleton rows={8} /> : <ErrorBox error={error} retry={() => setAttempt(attempt + 1)} />}
      </>
    );
  }
  return Object.assign(Lazy, { preload });
}
