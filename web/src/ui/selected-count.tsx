import { plural } from "../lib/format";
import type { Selection } from "./use-selection";

interface SelectedCountProps {
  selection: Selection;
  /** The rows of this page. */
  shown: readonly string[];
  one: string;
}

/** How many rows are chosen, how many of them on other pages, and how to choose none. */
export function SelectedCount({ selection, shown, one }: SelectedCountProps) {
  const elsewhere = [...selection.selected].filter((id) => !shown.includes(id)).length;
  return (
    <>
      <strong class="num">
        {plural(selection.selected.size, one)} selected{elsewhere > 0 && `, ${elsewhere} of them on other pages`}
      </strong>
      <button type="button" class="link-button" onClick={selection.clear}>
        Clear
      </button>
    </>
  );
}
