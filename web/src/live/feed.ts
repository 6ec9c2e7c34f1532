import { EventsDocument, type LiveEvent, PARTS, type Part } from "../api/fragments";
import { serverNow } from "./clock";
import { FrameQueue } from "./frame";
import { noteLag } from "./lag";
import type { Link } from "./link";

/** A part that nobody looks at any more is left out this much later: the next page often wants the same. */
const SHRINK_AFTER = 500;

/**
 * A feed that is so many milliseconds behind is left: pages ask how things are instead of reading all that happened
 * since.
 */
const TOO_LATE = 1_500;
/** It is left at most once in so many milliseconds: the pages' questions need their time, too. */
const LEAVES_EVERY = 3_000;

/** A page that follows the feed. */
export interface Listener {
  /** Called within an animation frame, in the order of the changes. */
  event(event: LiveEvent): void;
  /** Events were missed (too old a cursor, too slow a reader, too long hidden): ask again. */
  resync(): void;
  /** The connection is back: what could not be answered can be asked again. */
  connected(): void;
}

/** Whether a cursor, a batch and a place in it such as `1204.3`, lies before another. */
export function isBefore(left: string, right: string): boolean {
  const [[leftBatch = 0, leftPlace = 0], [rightBatch = 0, rightPlace = 0]] = [
    left.split(".").map(Number),
    right.split(".").map(Number),
  ];
  return leftBatch === rightBatch ? leftPlace < rightPlace : leftBatch < rightBatch;
}

/**
 * The feed of every change. It starts at the earliest `asOf` of the first queries, so nothing falls between a query
 * and the subscription, and resumes after the last cursor it has seen. Of the changed things it asks for those parts
 * only that some listener looks at: each costs the server a read for every event.
 */
export class Feed {
  private cursor: string | null = null;
  /** Where it began. */
  private began: string | null = null;
  private dispose: (() => void) | null = null;
  private readonly listeners = new Map<Listener, readonly Part[]>();
  private readonly frames = new FrameQueue(() => this.resync());
  private parts: ReadonlySet<Part> = new Set();
  private shrinking: ReturnType<typeof setTimeout> | null = null;
  /** When it was left last, by the server's clock. */
  private leftAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly link: Pick<Link, "subscribe">,
    private readonly clock: () => number = serverNow,
  ) {}

  /**
   * Starts after this cursor, unless the feed already runs. One that began later goes back to it: two answers of the
   * same moment may come in the other order, and an event that comes twice does no harm.
   */
  startAfter(asOf: string): void {
    if (this.dispose !== null && this.began !== null && !isBefore(asOf, this.began)) return;
    this.dispose?.();
    this.began = asOf;
    this.cursor = asOf;
    this.subscribe();
  }

  /** Whether it has brought anything that is younger than this cursor. */
  isBeyond(asOf: string): boolean {
    return this.cursor !== null && isBefore(asOf, this.cursor);
  }

  /** Follows the feed, with these parts of the changed things, until the answer is called. */
  listen(listener: Listener, parts: readonly Part[] = []): () => void {
    this.listeners.set(listener, parts);
    if (parts.some((part) => !this.parts.has(part))) this.renew();
    return () => {
      this.listeners.delete(listener);
      this.shrinking ??= setTimeout(() => this.shrink(), SHRINK_AFTER);
    };
  }

  /** Tells all listeners that the connection is back. */
  connected(): void {
    for (const listener of [...this.listeners.keys()]) listener.connected();
  }

  private wanted(): ReadonlySet<Part> {
    return new Set([...this.listeners.values()].flat());
  }

  private shrink(): void {
    this.shrinking = null;
    const wanted = this.wanted();
    if ([...this.parts].some((part) => !wanted.has(part))) this.renew();
  }

  /** Subscribes again after the last cursor, with what is looked at now. */
  private renew(): void {
    this.parts = this.wanted();
    if (this.dispose === null) return;
    this.dispose();
    this.subscribe();
  }

  private subscribe(): void {
    this.dispose = this.link.subscribe({
      document: EventsDocument,
      variables: () => ({
        after: this.cursor,
        ...(Object.fromEntries(PARTS.map((part) => [part, this.parts.has(part)])) as Record<Part, boolean>),
      }),
      next: ({ events }) => this.receive(events),
      refused: () => this.restart(),
    });
  }

  private receive(event: LiveEvent): void {
    this.cursor = event.cursor;
    const [happened, now] = [Date.parse(event.at), this.clock()];
    noteLag(happened, now);
    if (now - happened > TOO_LATE && now - this.leftAt > LEAVES_EVERY) {
      this.leftAt = now;
      this.restart();
    } else if (event.kind === "RESYNC") this.frames.add(() => this.resync());
    else
      this.frames.add(() => {
        for (const listener of [...this.listeners.keys()]) listener.event(event);
      });
  }

  /** The server does not accept the cursor, or what follows it is long past: the next query brings a new one. */
  private restart(): void {
    this.dispose?.();
    this.dispose = null;
    this.began = null;
    this.cursor = null;
    this.frames.add(() => this.resync());
  }

  private resync(): void {
    for (const listener of [...this.listeners.keys()]) listener.resync();
  }
}
