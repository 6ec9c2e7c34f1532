import { EventsDocument, type LiveEvent } from "../graphql/fragments";
import { FrameQueue } from "./frame";
import type { Link } from "./link";

const RESUME_AFTER = 1_000;

/** A page that follows the feed. */
export interface Listener {
  /** Called within an animation frame, in the order of the changes. */
  event(event: LiveEvent): void;
  /** Events were missed (too old a cursor, too slow a reader, too long hidden): ask again. */
  resync(): void;
}

/**
 * The feed of every change. It starts at the `asOf` of the first query, so nothing falls between the query and the
 * subscription, and resumes after the last cursor it has seen.
 */
export class Feed {
  private cursor: string | null = null;
  private dispose: (() => void) | null = null;
  private readonly listeners = new Set<Listener>();
  private readonly frames = new FrameQueue(() => this.resync());

  constructor(private readonly link: Pick<Link, "subscribe">) {}

  /** Starts after this cursor, unless the feed already runs. */
  startAfter(asOf: string): void {
    if (this.dispose !== null) return;
    this.cursor = asOf;
    this.dispose = this.link.subscribe({
      document: EventsDocument,
      variables: () => ({ after: this.cursor }),
      next: ({ events }) => this.receive(events),
      refused: () => this.restart(),
      ended: () => this.resume(),
    });
  }

  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  private receive(event: LiveEvent): void {
    this.cursor = event.cursor;
    if (event.kind === "RESYNC") this.frames.add(() => this.resync());
    else
      this.frames.add(() => {
        for (const listener of this.listeners) listener.event(event);
      });
  }

  /** The server ended the feed in order, as a stopping server does: go on after the last cursor, unhurriedly. */
  private resume(): void {
    const after = this.cursor;
    this.dispose = null;
    if (after !== null) setTimeout(() => this.startAfter(after), RESUME_AFTER);
  }

  /** The server no longer accepts the cursor: the next query brings a new one. */
  private restart(): void {
    this.dispose?.();
    this.dispose = null;
    this.cursor = null;
    this.frames.add(() => this.resync());
  }

  private resync(): void {
    for (const listener of this.listeners) listener.resync();
  }
}
