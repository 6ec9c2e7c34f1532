import { useEffect, useState } from "preact/hooks";
import { setParams } from "../state/route";
import { Icon } from "./icon";

interface PagerProps {
  /** The cursor of the page that is shown, "" for the first. */
  after: string;
  end: string | null;
  more: boolean;
  shown: number;
}

/**
 * Further pages by cursor; "back" and "First" lead to the live end of the list. In a burst only the server knows where
 * the page ends: "Next" waits for its answer, which is on its way.
 */
export function Pager({ after, end, more, shown }: PagerProps) {
  const [wanted, setWanted] = useState(false);
  useEffect(() => {
    if (!wanted || end === null) return;
    setWanted(false);
    setParams({ after: end });
  }, [wanted, end]);
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
      {more && (
        <button type="button" class="button small" aria-busy={wanted} onClick={() => setWanted(true)}>
          Next <Icon name="right" />
        </button>
      )}
    </nav>
  );
}
