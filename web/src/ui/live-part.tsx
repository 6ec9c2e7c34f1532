import type { ComponentChildren } from "preact";
import type { LiveResult } from "../live/use-live";
import { ErrorBox, Skeleton } from "./feedback";

interface LivePartProps<S> {
  live: LiveResult<S>;
  /** Rows of the skeleton, about as many as will come. */
  rows: number;
  children: (state: S) => ComponentChildren;
}

/**
 * A part of a page with a question of its own: on its way, failed (what was known stays, dimmed), or there. Never empty
 * for want of an answer.
 */
export function LivePart<S>({ live: { state, error, reload }, rows, children }: LivePartProps<S>) {
  return (
    <>
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {state === null && error === null && <Skeleton rows={rows} />}
      {state !== null && (error === null ? children(state) : <div class="dimmed">{children(state)}</div>)}
    </>
  );
}
