import { ApiError, LinkError, request } from "../api/client";
import type { LiveEvent, Part } from "../api/fragments";
import type { TadaDocumentNode } from "../api/tada";
import { noteServerTime } from "./clock";
import type { Feed } from "./feed";
import { type LastAnswer, untilNext, untilRetry } from "./pace";

/** A page's data: asked for once, then kept up to date by events. */
export interface LiveQuery<R extends Stamps, V, S> {
  readonly document: TadaDocumentNode<R, V>;
  /** The first answer, if it came with that to another question: then nothing is asked when the page opens. */
  readonly first?: R | null;
  /** Made again at each question, so that spans of time move with the clock. */
  variables(): V;
  /** Makes the page's state from an answer; `before` is what was shown until now. */
  init(data: R, before: S | null): S;
  /** What of the changed things `reduce` and `outdates` look at, beyond ids and states. */
  readonly parts?: readonly Part[];
  /** Applies one event; the same object means that nothing changed. Missing = events change nothing by themselves. */
  reduce?(state: S, event: LiveEvent): S;
  /** Whether an event makes the answer as a whole out of date (counts, membership): it is then asked for again. */
  outdates?(event: LiveEvent, state: S): boolean;
  /** Events were missed: the next question is asked because of that. */
  missed?(): void;
  /** Milliseconds from question to question that events cause, at least; a second unless given. */
  readonly every?: number;
  /** When the answer goes out of date by itself, in milliseconds of the server's clock; null = never. */
  expires?(state: S): number | null;
}

/** What the server says of every answer. */
export interface Stamps {
  /** The place in the feed that the answer belongs to: what came after it, the feed brings. */
  readonly asOf: string;
  readonly serverTime?: string;
}

type Ask<R, V> = (document: TadaDocumentNode<R, V>, variables: V, signal: AbortSignal) => Promise<R>;

const EVERY = 1_000;

/** What pages showed last, so that "back" paints at once; bounded, oldest out first. */
const remembered = new Map<string, unknown>();
const REMEMBER = 20;

function remember(key: string, state: unknown): void {
  remembered.delete(key);
  remembered.set(key, state);
  if (remembered.size > REMEMBER) remembered.delete(remembered.keys().next().value ?? "");
}

/** Rows that are pruned go without an event each: the end of the job that does it stands for all of them. */
function prunes({ kind, jobName }: LiveEvent): boolean {
  return kind === "EXECUTION_FINISHED" && jobName === "prune_history";
}

function passes(error: Error): boolean {
  return error instanceof LinkError || (error instanceof ApiError && error.passes);
}

/**
 * One page's question to the server, with all that can happen to it. A question under way is never cut off by an event:
 * what comes meanwhile marks the answer as dirty, and the question is asked once more after it.
 */
export class Session<R extends Stamps, V, S> {
  state: S | null = null;
  error: Error | null = null;
  loading = true;
  answer: R | null = null;
  private query!: LiveQuery<R, V, S>;
  private pending: LiveEvent[] = [];
  private controller: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private expiry: ReturnType<typeof setTimeout> | null = null;
  private dirty: "no" | "in time" | "at once" = "no";
  private failures = 0;
  private last: LastAnswer = { asked: 0, took: 0 };
  private closed = false;

  constructor(
    private readonly key: string,
    private readonly render: () => void,
    private readonly feed: Pick<Feed, "listen" | "startAfter" | "isBeyond">,
    private readonly serverNow: () => number,
    private readonly send: Ask<R, V> = request,
  ) {
    this.state = (remembered.get(key) as S | undefined) ?? null;
  }

  /** Called at every render: the newest functions are used. */
  use(query: LiveQuery<R, V, S>): void {
    this.query = query;
  }

  open(): () => void {
    const stop = this.feed.listen(
      {
        event: (event) => this.receive(event),
        resync: () => this.resync(),
        connected: () => this.error !== null && this.reload(),
      },
      this.query.parts ?? [],
    );
    this.begin(this.query.first ?? null);
    return () => {
      this.closed = true;
      stop();
      this.controller?.abort();
      this.cancelTimers();
    };
  }

  private begin(first: R | null): void {
    // What was shown before may be newer.
    if (first === null || this.state !== null) return void this.ask();
    this.accept(first, Date.now());
    // What came between that answer and now, this page did not hear.
    if (this.feed.isBeyond(first.asOf)) this.outdate();
  }

  /** Asks at once, or right after the answer that is on its way. */
  reload(): void {
    if (this.controller !== null) this.dirty = "at once";
    else void this.ask();
  }

  /** Asks again in a while. */
  outdate(): void {
    if (this.controller !== null) this.dirty = this.dirty === "no" ? "in time" : this.dirty;
    else this.later(untilNext(this.last, this.query.every ?? EVERY, Date.now()));
  }

  private resync(): void {
    this.query.missed?.();
    this.outdate();
  }

  patch(change: (state: S) => S): void {
    if (this.state !== null) this.show(change(this.state));
  }

  private async ask(): Promise<void> {
    const controller = new AbortController();
    this.controller = controller;
    this.cancelTimers();
    this.pending = [];
    this.dirty = "no";
    this.loading = true;
    const asked = Date.now();
    this.render();
    try {
      const data = await this.send(this.query.document, this.query.variables(), controller.signal);
      if (controller.signal.aborted) return;
      if (data.serverTime !== undefined) noteServerTime(asked, data.serverTime);
      this.accept(data, asked);
    } catch (error) {
      if (!controller.signal.aborted) this.fail(error instanceof Error ? error : new Error(String(error)), asked);
    }
  }

  private settle(asked: number): void {
    this.last = { asked, took: Date.now() - asked };
    this.loading = false;
    this.controller = null;
  }

  private accept(data: R, asked: number): void {
    this.answer = data;
    this.feed.startAfter(data.asOf);
    this.settle(asked);
    this.failures = 0;
    this.error = null;
    // What came before there was anything to judge it by is judged now: the answer may be older than it.
    const unjudged = this.state === null;
    let state = this.query.init(data, this.state);
    for (const event of this.pending) {
      state = this.query.reduce?.(state, event) ?? state;
      if (unjudged && this.dirty === "no" && this.isOutdatedBy(event, state)) this.dirty = "in time";
    }
    this.pending = [];
    this.show(state);
    if (this.dirty === "at once") void this.ask();
    else if (this.dirty === "in time") this.outdate();
    else this.expire(state);
  }

  private fail(error: Error, asked: number): void {
    this.settle(asked);
    this.error = error;
    this.render();
    if (this.dirty === "at once") void this.ask();
    else if (passes(error)) {
      this.later(untilRetry(this.failures));
      this.failures += 1;
    }
  }

  private receive(event: LiveEvent): void {
    // While a question is on its way its answer may be older or newer than this event: applied again afterwards it does
    // no harm.
    if (this.controller !== null) this.pending.push(event);
    const next = this.state === null ? null : (this.query.reduce?.(this.state, event) ?? this.state);
    if (next !== null && next !== this.state) this.show(next);
    if (next !== null && this.isOutdatedBy(event, next)) this.outdate();
  }

  private isOutdatedBy(event: LiveEvent, state: S): boolean {
    return prunes(event) || this.query.outdates?.(event, state) === true;
  }

  private expire(state: S): void {
    const at = this.query.expires?.(state) ?? null;
    if (at === null) return;
    const delay = Math.max(at - this.serverNow(), untilNext(this.last, this.query.every ?? EVERY, Date.now()));
    // Browsers take delays of more than 24 days for none at all.
    this.expiry = setTimeout(() => this.outdate(), Math.min(delay, 86_400_000));
  }

  private later(delay: number): void {
    if (this.timer !== null || this.closed) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      void this.ask();
    }, delay);
  }

  private cancelTimers(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    if (this.expiry !== null) clearTimeout(this.expiry);
    this.timer = null;
    this.expiry = null;
  }

  private show(state: S): void {
    this.state = state;
    remember(this.key, state);
    if (!this.closed) this.render();
  }
}
