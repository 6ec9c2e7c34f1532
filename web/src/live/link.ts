import { type ReadonlySignal, signal } from "@preact/signals";
import { type Client, createClient } from "graphql-ws";
import { ApiError, type ApiErrorEntry, dataBeside } from "../api/client";
import { signInAgain } from "../api/sign-in";
import { refusesHash, sentDocument, type TadaDocumentNode } from "../api/tada";
import { at } from "../lib/base";
import { closeCode, SIGNED_OUT } from "../lib/close-code";
import { INITIAL, type LinkEvent, type LinkState, resumeDelay, step } from "./link-state";
import { serverIsThere } from "./presence";

/** Ping after this long without traffic, and give the answer this long: a dead socket is noticed within 15 s. */
const PING_EVERY = 10_000;
const PONG_WITHIN = 5_000;

/** The library sends nothing without a text. With a hash it gets this one, which is left out of the message. */
const NO_TEXT = "";

/** The code with which a server closes its sockets before it stops. */
const RESTARTING = 1012;

/** What a subscriber gets; `next` may be called again after a reconnection, from where `variables()` says. */
export interface Subscriber<R, V> {
  readonly document: TadaDocumentNode<R, V>;
  /** Read at every (re)connection, so that it can name the last cursor or line. */
  variables(): V;
  next(data: R): void;
  /** The server stopped feeding it for a reason that passes; it is subscribed again by itself, ever more slowly. */
  interrupted?(): void;
  /** The server refused the operation as it is: it is not tried again. */
  refused?(error: ApiError): void;
  /** Whether all has been said, so that an orderly end is the end; without this an end is an interruption. */
  isOver?(): boolean;
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
  /** Looks whether the server is back; nothing is subscribed meanwhile. */
  private looking = false;

  constructor(
    url: string,
    private readonly isThere: () => Promise<boolean> = serverIsThere,
  ) {
    this.client = createClient({
      url,
      lazy: true,
      // Operations that are about to be resumed do not lose the socket meanwhile.
      lazyCloseTimeout: 30_000,
      retryAttempts: 0,
      keepAlive: PING_EVERY,
      connectionAckWaitTimeout: 10_000,
      jsonMessageReplacer: (key, value: unknown) => (key === "query" && value === NO_TEXT ? undefined : value),
      on: {
        connected: () => this.dispatch({ type: "opened", at: Date.now() }),
        closed: (event) => this.onClosed(event),
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
    if (this.current.peek().kind !== "waiting" && !this.looking) entry.start();
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
    void this.comeBack();
  }

  /** Opens the socket again once the server is there. */
  private async comeBack(): Promise<void> {
    this.looking = true;
    const there = await this.isThere();
    this.looking = false;
    if (there) for (const entry of [...this.entries]) entry.start();
    if (!there || this.entries.size === 0) this.lost(false);
  }

  /** Opens another connection in the place of this one, such as for a session that is new. */
  reconnect(): void {
    this.client.terminate();
  }

  private makeEntry<R, V extends Record<string, unknown>>(subscriber: Subscriber<R, V>): Entry {
    let dispose: (() => void) | null = null;
    let timer = 0;
    let attempt = 0;
    const again = (): void => {
      subscriber.interrupted?.();
      window.clearTimeout(timer);
      timer = window.setTimeout(
        () => this.entries.has(entry) && this.current.peek().kind === "live" && entry.start(),
        resumeDelay(attempt, Math.random()),
      );
      attempt += 1;
    };
    const fail = (errors: readonly ApiErrorEntry[]): void => {
      const error = new ApiError(errors);
      if (error.passes) {
        again();
        return;
      }
      this.entries.delete(entry);
      subscriber.refused?.(error);
    };
    const entry: Entry = {
      start: () => {
        window.clearTimeout(timer);
        dispose?.();
        const sent = sentDocument(subscriber.document);
        const payload = { query: NO_TEXT, ...sent, variables: subscriber.variables() };
        let current = true;
        const cancel = this.client.subscribe<R>(payload, {
          next: ({ data, errors }) => {
            if (!current) return;
            let shown = data;
            try {
              shown = dataBeside(data, (errors ?? []) as readonly ApiErrorEntry[]);
            } catch {
              return fail(errors as readonly ApiErrorEntry[]);
            }
            attempt = 0;
            if (shown) subscriber.next(shown);
          },
          error: (cause) => {
            // A lost connection is the link's business (`closed` above); a list of errors is an answer to this
            // operation.
            if (!current || !Array.isArray(cause)) return;
            const errors = cause as readonly ApiErrorEntry[];
            if (refusesHash(sent, errors)) entry.start();
            else fail(errors);
          },
          complete: () => {
            if (!current || !this.entries.has(entry)) return;
            if (subscriber.isOver?.() === true) this.entries.delete(entry);
            else again();
          },
        });
        dispose = () => {
          current = false;
          cancel();
        };
      },
      stop: () => {
        window.clearTimeout(timer);
        dispose?.();
      },
    };
    return entry;
  }

  private onPing(received: boolean): void {
    if (received) return;
    window.clearTimeout(this.pongTimer);
    this.pongTimer = window.setTimeout(() => this.client.terminate(), PONG_WITHIN);
  }

  private onClosed(event: unknown): void {
    window.clearTimeout(this.pongTimer);
    // Of an open connection only the session that opened it has ended: the browser may have another, such as after a
    // new password in another tab. Who has none is refused when the socket is opened again.
    if (closeCode(event) === SIGNED_OUT && this.current.peek().kind !== "live")
      return void signInAgain().then(() => this.lost(false));
    this.lost(closeCode(event) === RESTARTING);
  }

  /** Waits for the next attempt, if anybody still wants one. */
  private lost(restarting: boolean): void {
    if (this.entries.size === 0) {
      this.current.value = INITIAL;
      return;
    }
    this.dispatch({ type: "closed", at: Date.now(), spread: Math.random(), restarting });
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
  const url = new URL(at("/graphql"), location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}
