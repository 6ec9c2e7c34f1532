import { setParams } from "../state/route";
import { Icon } from "./icon";

interface PagerProps {
  /** The cursor of the page that is shown, "" for the first. */
  after: string;
  end: string | null;
  more: boolean;
  shown: number;
}

/** Further pages by cursor; "back" and "First" lead to the live end of the list. */
export function Pager({ after, end, more, shown }: PagerProps) {
  if (after === "" && !more) return null;
  return (
    <nav class="pager" aria-label="Pages of the list">
      {after === "" ? (
        <span class="dim num">the first {shown}</span>
      ) : (
        <button type="button" class="button small" onClick={() => setParams({ after: null })}>
          <Icon name="left" /> First
        </button>
      )}
      {more && end === null && <span class="dim">there is more…</span>}
      {more && end !== null && (
        <button type="button" class="button small" onClick={() => setParams({ after: end })}>
          Next <Icon name="right" />
        </button>
      )}
    </nav>
  );
}
