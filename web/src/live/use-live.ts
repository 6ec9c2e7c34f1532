import { useEffect, useMemo, useReducer } from "preact/hooks";
import { feed } from ".";
import { serverNow } from "./clock";
import { type LiveQuery, Session, type Stamps } from "./session";

export interface LiveResult<S, R = unknown> {
  /** Null until the first answer. */
  readonly state: S | null;
  /** The last question failed; `state` is then what was known before. */
  readonly error: Error | null;
  readonly loading: boolean;
  /**
   * The newest answer since the page was opened, as it came; null before, though there may be a state that is
   * remembered.
   */
  readonly answer: R | null;
  /** Asks again. */
  reload(): void;
  /** Changes the state at once, before the server has answered, so that a press shows within a frame. */
  patch(change: (state: S) => S): void;
}

/**
 * Asks the server, follows the feed from the answer's `asOf`, and asks again when told to resynchronise.
 * `key` names the question (page and filters): another key is another question, and "back" finds its last state.
 */
export function useLive<R extends Stamps, V, S>(key: string, query: LiveQuery<R, V, S>): LiveResult<S, R> {
  const [, render] = useReducer((count: number) => count + 1, 0);
  const session = useMemo(() => new Session<R, V, S>(key, () => render(undefined), feed, serverNow), [key]);
  session.use(query);
  useEffect(() => session.open(), [session]);
  return {
    state: session.state,
    error: session.error,
    loading: session.loading,
    answer: session.answer,
    reload: () => session.reload(),
    patch: (change) => session.patch(change),
  };
}
