import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ErrorBox, Skeleton } from "./feedback";

/** A page whose code is fetched when it is first shown; a failed fetch can be tried again. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | null = null;
  return function Lazy(props: P) {
    const [Page, setPage] = useState<{ readonly component: ComponentType<P> | null }>({ component: loaded });
    const [error, setError] = useState<Error | null>(null);
    const [attempt, setAttempt] = useState(0);
    useEffect(() => {
      if (loaded !== null) return;
      setError(null);
      load().then(
        (component) => {
          loaded = component;
          setPage({ component });
        },
        (cause: unknown) => setError(cause instanceof Error ? cause : new Error(String(cause))),
      );
    }, [attempt]);
    if (Page.component !== null) return <Page.component {...props} />;
    return error === null ? <Skeleton rows={8} /> : <ErrorBox error={error} retry={() => setAttempt(attempt + 1)} />;
  };
}
