/** What the API refuses because it would look through or sort too many rows, in words of the page. Pure. */
import { integer } from "../lib/format";

export interface Refusal {
  readonly code: string | null;
  readonly maximum: number | null;
}

/** A list as one speaks of it. */
export interface ListWords {
  /** What it lists: "executions". */
  readonly rows: string;
  /** How it is ordered: "by duration". */
  readonly order?: string | undefined;
}

/** What is the matter with a list; null where nothing is said that the server has not said better. */
export function refusalWords({ code, maximum }: Refusal, { rows, order = "like this" }: ListWords): string | null {
  switch (code) {
    case "LIMIT_SORTED_ROWS":
      return `There are too many ${rows} to be ordered ${order}${maximum === null ? "" : `: more than ${integer(maximum)}`}.`;
    case "LIMIT_COST":
      return `There are too many ${rows} to be looked through for this.`;
    case "LIMIT_SEARCH_SECONDS":
      return `There are so many ${rows} that looking through them took too long, and was stopped.`;
    case "LIMIT_SEARCH_BUDGET":
      return `Too many ${rows} were looked through for you in the last seconds. Try again in a moment.`;
    default:
      return null;
  }
}

/** Those of some spans of time, longest last, that are shorter than the one that is chosen, three of them at most. */
export function shorterSpans(spans: readonly string[], chosen: string): readonly string[] {
  const end = spans.indexOf(chosen);
  return (end === -1 ? spans : spans.slice(0, end)).slice(-3);
}
