import { useEffect, useMemo, useReducer } from "preact/hooks";
import type { LiveEvent } from "../graphql/fragments";
import { LinkError, request } from "../graphql/client";
import type { TadaDocumentNode } from "../graphql/tada";
import { feed } from ".";
import { noteServerTime } from "./clock";

/** A page's data: asked for once, then kept up to date by events. */
export interface LiveQuery<R, V, S> {
  readonly document: TadaDocumentNode<R, V>;
  readonly variables: V;
  /** Makes the page's state from an answer; `before` is what was shown until now. */
  init(data: R, before: S | null): S;
  /** Applies one event; the same object means that nothing changed. Missing = events change nothing by themselves. */
  reduce?(state: S, event: LiveEvent): S;
  /** Whether an event makes the answer as a whole out of date (counts, membership): it is then asked for again, once per `every`. */
  outdates?(event: LiveEvent, state: S): boolean;
  /** Milliseconds between two questions that events cause; a second unless given. */
  readonly every?: number;
}

export interface LiveResult<S> {
  /** Null until the first answer. */
  readonly state: S | null;
  /** The last question failed; `state` is then what was known before. */
  readonly error: Error | null;
  readonly loading: boolean;
  /** Asks again. */
  reload(): void;
  /** Changes the state at once, before the server has answered, so that a press shows within a frame. */
  patch(change: (state: S) => S): void;
}

interface Stamps {
  readonly asOf?: string;
  readonly serverTime?: string;
}

const REFETCH_EVERY = 1_000;
/** A change seldom comes alone: this much is waited for its company. */
const REFETCH_SOON = 80;
const FIRST_RETRY = 1_000;
const LONGEST_RETRY = 15_000;

/** What pages showed last, so that "back" paints at once; bounded, oldest out first. */
const remembered = new Map<string, unknown>();
const REMEMBER = 20;

function remember(key: string, state: unknown): void {
  remembered.delete(key);
  remembered.set(key, state);
  if (remembered.size > REMEMBER) remembered.delete(remembered.keys().next().value ?? "");
}

/** One page's question to the server, with all that can happen to it. Not tied to a component, so that effects stay simple. */
class Session<R, V, S> {
  state: S | null = null;
  error: Error | null = null;
  loading = true;
  private query!: LiveQuery<R, V, S>;
  private pending: LiveEvent[] = [];
  private controller: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private failures = 0;
  private lastAsked = 0;
  private closed = false;

  constructor(
    private readonly key: string,
    private readonly render: () => void,
  ) {
    this.state = (remembered.get(key) as S | undefined) ?? null;
  }

  /** Called at every render: the newest functions are used. */
  use(query: LiveQuery<R, V, S>): void {
    this.query = query;
  }

  open(): () => void {
    const stop = feed.listen({ event: (event) => this.receive(event), resync: () => this.later(REFETCH_EVERY) });
    void this.ask();
    return () => {
      this.closed = true;
      stop();
      this.controller?.abort();
      if (this.timer !== null) clearTimeout(this.timer);
    };
  }

  async ask(): Promise<void> {
    this.controller?.abort();
    const controller = new AbortController();
    this.controller = controller;
    this.cancelTimer();
    this.pending = [];
    this.lastAsked = Date.now();
    this.loading = true;
    this.render();
    try {
      const data = await request(this.query.document, this.query.variables, controller.signal);
      if (!controller.signal.aborted) this.accept(data);
    } catch (error) {
      if (!controller.signal.aborted) this.fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  patch(change: (state: S) => S): void {
    if (this.state !== null) this.show(change(this.state));
  }

  private accept(data: R): void {
    const { asOf, serverTime } = data as Stamps;
    if (serverTime !== undefined) noteServerTime(this.lastAsked, serverTime);
    if (asOf !== undefined) feed.startAfter(asOf);
    this.failures = 0;
    this.error = null;
    this.loading = false;
    this.controller = null;
    let state = this.query.init(data, this.state);
    for (const event of this.pending) state = this.query.reduce?.(state, event) ?? state;
    this.pending = [];
    this.show(state);
  }

  private fail(error: Error): void {
    this.error = error;
    this.loading = false;
    this.controller = null;
    this.render();
    if (!(error instanceof LinkError)) return;
    this.later(Math.min(LONGEST_RETRY, FIRST_RETRY * 2 ** this.failures));
    this.failures += 1;
  }

  private receive(event: LiveEvent): void {
    // While a question is on its way its answer may be older or newer than this event: applied again afterwards it does no harm.
    if (this.controller !== null) this.pending.push(event);
    if (this.state === null) return;
    const next = this.query.reduce?.(this.state, event) ?? this.state;
    if (next !== this.state) this.show(next);
    if (this.query.outdates?.(event, next)) this.later(Math.max(REFETCH_SOON, this.lastAsked + (this.query.every ?? REFETCH_EVERY) - Date.now()));
  }

  private later(delay: number): void {
    if (this.timer !== null || this.closed) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      void this.ask();
    }, delay);
  }

  private cancelTimer(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  private show(state: S): void {
    this.state = state;
    remember(this.key, state);
    if (!this.closed) this.render();
  }
}

/**
 * Asks the server, follows the feed from the answer's `asOf`, and asks again when told to resynchronise.
 * `key` names the question (page and filters): another key is another question, and "back" finds its last state.
 */
export function useLive<R, V, S>(key: string, query: LiveQuery<R, V, S>): LiveResult<S> {
  const [, render] = useReducer((count: number) => count + 1, 0);
  const session = useMemo(() => new Session<R, V, S>(key, () => render(undefined)), [key]);
  session.use(query);
  useEffect(() => session.open(), [session]);
  return {
    state: session.state,
    error: session.error,
    loading: session.loading,
    reload: () => void session.ask(),
    patch: (change) => session.patch(change),
  };
}
