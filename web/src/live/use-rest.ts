import { useEffect } from "preact/hooks";
import { request } from "../api/client";
import type { TadaDocumentNode } from "../api/tada";
import { notify } from "../state/announce";
import type { LiveResult } from "./use-live";

/** How far a list that is read page after page has come. */
export interface Pages {
  /** Cursor of the next page that is still to be read, null when all are there. */
  readonly next: string | null;
  readonly pages: number;
}

/** Rows that are read page after page: until all are there, what was known before stays in sight. */
export interface Gathered<Row> extends Pages {
  readonly shown: readonly Row[];
  readonly read: readonly Row[];
}

/** The rows after a page more; `most` pages are read at most. */
export function gather<Row>(
  before: Gathered<Row> | null,
  read: readonly Row[],
  next: string | null,
  pages: number,
  most: number,
): Gathered<Row> {
  const complete = next === null || pages >= most;
  return {
    read,
    next,
    pages,
    shown: complete || before === null || before.shown.length < read.length ? read : before.shown,
  };
}

export function nextCursor({
  hasNextPage,
  endCursor,
}: {
  readonly hasNextPage: boolean;
  readonly endCursor: string | null;
}): string | null {
  return hasNextPage ? endCursor : null;
}

interface Rest<R, V, S> {
  readonly document: TadaDocumentNode<R, V>;
  /** Pages that are read at most. */
  readonly most: number;
  variables(state: S): V;
  append(page: R, before: S): S;
}

/** Reads the pages behind the first one, until all are there or enough are. */
export function useRest<R, V, S extends Pages>(
  { state, patch }: LiveResult<S>,
  { document, most, variables, append }: Rest<R, V, S>,
): void {
  useEffect(() => {
    if (state === null || state.next === null || state.pages >= most) return undefined;
    const controller = new AbortController();
    request(document, variables(state), controller.signal).then(
      (page) => patch((before) => append(page, before)),
      (error: unknown) => {
        if (!controller.signal.aborted)
          notify(`The picture could not be read in full: ${error instanceof Error ? error.message : String(error)}`, {
            tone: "bad",
          });
      },
    );
    return () => controller.abort();
  }, [state?.next]);
}
