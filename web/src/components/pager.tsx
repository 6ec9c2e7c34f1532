import { setParams } from "../state/route";
import { Icon } from "./icon";

interface PagerProps {
  /** The cursor of the page that is shown, "" for the newest. */
  after: string;
  end: string | null;
  more: boolean;
  shown: number;
}

/** Older pages by cursor; "back" and "Newest" lead to the live end of the list. */
export function Pager({ after, end, more, shown }: PagerProps) {
  if (after === "" && !more) return null;
  return (
    <nav class="pager" aria-label="Pages of the list">
      {after === "" ? (
        <span class="dim num">the newest {shown}</span>
      ) : (
        <button type="button" class="button small" onClick={() => setParams({ after: null })}>
          <Icon name="left" /> Newest
        </button>
      )}
      {more && end !== null && (
        <button type="button" class="button small" onClick={() => setParams({ after: end })}>
          Older <Icon name="right" />
        </button>
      )}
    </nav>
  );
}
