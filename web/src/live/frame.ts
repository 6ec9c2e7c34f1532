import { batch } from "@preact/signals";

type Task = () => void;

/**
 * At most this much is done in one frame, or kept while the tab is hidden: beyond it a page asks again, which costs it
 * less.
 */
const LIMIT = 200;

/**
 * Collects work until the next animation frame and does it in one batch, so that a burst of events costs one render.
 * `overflow` is called instead when too much has piled up (a hidden tab gets no frames).
 */
export class FrameQueue {
  private waiting: Task[] = [];
  private overflown = false;
  private asked = false;

  constructor(
    private readonly overflow: Task,
    private readonly nextFrame: (task: Task) => void = (task) => void requestAnimationFrame(task),
  ) {}

  add(task: Task): void {
    if (this.waiting.length < LIMIT) this.waiting.push(task);
    else this.overflown = true;
    if (this.asked) return;
    this.asked = true;
    this.nextFrame(() => this.flush());
  }

  private flush(): void {
    const tasks = this.waiting;
    const overflown = this.overflown;
    this.waiting = [];
    this.overflown = false;
    this.asked = false;
    batch(() => {
      if (overflown) this.overflow();
      else for (const task of tasks) task();
    });
  }
}
