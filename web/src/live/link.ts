import { signal, type ReadonlySignal } from "@preact/signals";
import { type Client, createClient } from "graphql-ws";
import { ApiError, type ApiErrorEntry } from "../graphql/client";
import { printDocument, type TadaDocumentNode } from "../graphql/tada";
import { INITIAL, type LinkEvent, type LinkState, step } from "./link-state";

/** Ping after this long without traffic, and give the answer this long: a dead socket is noticed within 15 s. */
const PING_EVERY = 10_000;
const PONG_WITHIN = 5_000;

/** What a subscriber gets; `next` may be called again after a reconnection, from where `variables()` says. */
export interface Subscriber<R, V> {
  readonly document: TadaDocumentNode<R, V>;
  /** Read at every (re)connection, so that it can name the last cursor or line. */
  variables(): V;
  next(data: R): void;
  /** The server refused the operation: it is not tried again. */
  refused?(error: ApiError): void;
  /** The server ended the operation in order. */
  ended?(): void;
}

interface Entry {
  start(): void;
  stop(): void;
}

/** One WebSocket for the whole page; every subscription survives its reconnections. */
export class Link {
  private readonly entries = new Set<Entry>();
  private readonly current = signal<LinkState>(INITIAL);
  private readonly client: Client;
  private retryTimer = 0;
  private pongTimer = 0;

  constructor(url: string) {
    this.client = createClient({
      url,
      lazy: true,
      lazyCloseTimeout: 2_000,
      retryAttempts: 0,
      keepAlive: PING_EVERY,
      connectionAckWaitTimeout: 10_000,
      on: {
        connected: () => this.dispatch({ type: "opened", at: Date.now() }),
        closed: () => this.onClosed(),
        ping: (received) => this.onPing(received),
        pong: (received) => void (received && window.clearTimeout(this.pongTimer)),
      },
    });
  }

  get state(): ReadonlySignal<LinkState> {
    return this.current;
  }

  /** Subscribes now and after every reconnection, until the answer is called. */
  subscribe<R, V extends Record<string, unknown>>(subscriber: Subscriber<R, V>): () => void {
    const entry = this.makeEntry(subscriber);
    this.entries.add(entry);
    if (this.current.peek().kind !== "waiting") entry.start();
    return () => {
      this.entries.delete(entry);
      entry.stop();
    };
  }

  /** Tries again at once instead of waiting. */
  retryNow(): void {
    if (this.current.peek().kind !== "waiting") return;
    window.clearTimeout(this.retryTimer);
    this.dispatch({ type: "due" });
    for (const entry of [...this.entries]) entry.start();
  }

  private makeEntry<R, V extends Record<string, unknown>>(subscriber: Subscriber<R, V>): Entry {
    let dispose: (() => void) | null = null;
    const finish = (): void => void this.entries.delete(entry);
    const entry: Entry = {
      start: () => {
        dispose?.();
        const payload = { query: printDocument(subscriber.document), variables: subscriber.variables() };
        dispose = this.client.subscribe<R>(payload, {
          next: ({ data, errors }) => {
            if (errors) subscriber.refused?.(new ApiError(errors as readonly ApiErrorEntry[]));
            else if (data) subscriber.next(data);
          },
          error: (cause) => {
            // A lost connection is the link's business (`closed` above); a list of errors is an answer to this operation.
            if (!Array.isArray(cause)) return;
            finish();
            subscriber.refused?.(new ApiError(cause as readonly ApiErrorEntry[]));
          },
          complete: () => {
            if (!this.entries.has(entry)) return;
            finish();
            subscriber.ended?.();
          },
        });
      },
      stop: () => dispose?.(),
    };
    return entry;
  }

  private onPing(received: boolean): void {
    if (received) return;
    window.clearTimeout(this.pongTimer);
    this.pongTimer = window.setTimeout(() => this.client.terminate(), PONG_WITHIN);
  }

  private onClosed(): void {
    window.clearTimeout(this.pongTimer);
    if (this.entries.size === 0) {
      this.current.value = INITIAL;
      return;
    }
    this.dispatch({ type: "closed", at: Date.now(), spread: Math.random() });
    const state = this.current.peek();
    if (state.kind !== "waiting") return;
    window.clearTimeout(this.retryTimer);
    this.retryTimer = window.setTimeout(() => this.retryNow(), state.retryAt - Date.now());
  }

  private dispatch(event: LinkEvent): void {
    this.current.value = step(this.current.peek(), event);
  }
}

/** The address of `/graphql` for WebSockets, on the origin of the page. */
export function socketUrl(location: Location): string {
  const url = new URL("/graphql", location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}
