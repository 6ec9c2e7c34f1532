import type { StripColumns } from "../../api/strip";
import { type StripOccurrence, stripOccurrences } from "../../lib/strip";

/** Occurrences by the id of their task. */
export type Strips = ReadonlyMap<string, readonly StripOccurrence[]>;

type Answer = readonly { readonly id: string; readonly strip: StripColumns }[];

/**
 * Whose strips have to be asked for: of the whole page at first, then of those tasks alone that something has happened
 * to, since a page of strips is by far the largest answer there is.
 */
export class StripsWanted {
  private whole = true;
  private readonly changed = new Set<string>();
  /** What is on its way: tasks, or null for the page; nothing = undefined. */
  private asked: readonly string[] | null | undefined = undefined;

  /** A task that is shown has had an occurrence. */
  note(taskId: string): void {
    this.changed.add(taskId);
  }

  /** Something was missed or moved: the page is asked for as a whole next time. */
  everything(): void {
    this.whole = true;
  }

  /** The tasks of the next question; null for the page. What was asked before and not answered is asked again. */
  next(): readonly string[] | null {
    const page = this.whole || this.asked === null;
    this.asked =
      page || this.changed.size + (this.asked ?? []).length === 0
        ? null
        : [...new Set([...(this.asked ?? []), ...this.changed])];
    this.whole = false;
    this.changed.clear();
    return this.asked;
  }

  /** The strips as they are after an answer to the last question. */
  accept(answer: Answer, before: Strips | null): Strips {
    const news = answer.map((task) => [task.id, stripOccurrences(task.strip)] as const);
    const all = this.asked === null || before === null ? new Map(news) : new Map([...before, ...news]);
    this.asked = undefined;
    return all;
  }
}
