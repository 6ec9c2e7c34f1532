import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Needs } from "../model/columns";

const NONE: Needs = new Map();
/** Rows that are measured, and milliseconds from one look at rows that come and go to the next. */
const ROWS = 100;
const EVERY = 500;

/**
 * What the content of each column takes, as far as it was seen on this page: columns grow with it and never shrink
 * while one reads. Nothing is measured where rows have several lines.
 */
export function useNeeds(
  place: RefObject<HTMLElement | null>,
  page: string,
  shown: readonly string[],
  rows: unknown,
): Needs {
  const [known, setKnown] = useState<{ readonly page: string; readonly needs: Needs }>({ page, needs: NONE });
  const needs = known.page === page ? known.needs : NONE;
  const looked = useRef(0);
  const look = (): void => {
    looked.current = performance.now();
    const table = place.current?.querySelector<HTMLTableElement>("table.one-line");
    if (table == null) return;
    const found = measured(table, shown);
    const grown = [...found].filter(([key, width]) => width > (needs.get(key) ?? 0));
    if (grown.length > 0) setKnown({ page, needs: new Map([...needs, ...grown]) });
  };
  useLayoutEffect(look, [page, shown.join()]);
  useEffect(() => {
    const timer = window.setTimeout(look, Math.max(0, looked.current + EVERY - performance.now()));
    return () => window.clearTimeout(timer);
  }, [rows]);
  return needs;
}

/** The widest content of each column, of its heading too, in pixels with the padding of its cells. */
function measured(table: HTMLTableElement, shown: readonly string[]): Needs {
  const lines = [...table.rows].slice(0, ROWS);
  const [first] = lines;
  if (first === undefined) return NONE;
  const checks = first.cells.length - shown.length;
  const range = document.createRange();
  return new Map(
    shown.map((key, place) => {
      const cells = lines.flatMap((line) => line.cells[place + checks] ?? []);
      const widest = Math.max(
        ...cells.map((cell) => {
          range.selectNodeContents(cell);
          // A line that ends with an ellipsis is a block that is wider inside.
          return Math.max(range.getBoundingClientRect().width, cell.firstElementChild?.scrollWidth ?? 0);
        }),
      );
      const style = getComputedStyle(cells.at(-1) ?? first);
      const padding = Number.parseFloat(style.paddingLeft) + Number.parseFloat(style.paddingRight);
      return [key, Math.ceil(widest + padding) + 1];
    }),
  );
}
