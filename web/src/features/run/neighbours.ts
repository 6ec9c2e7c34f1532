import { useEffect, useState } from "preact/hooks";
import { request } from "../../api/client";
import { graphql } from "../../api/tada";
import { notify } from "../../state/announce";
import type { RunDetail } from "./document";

const NeighboursDocument = graphql(`
  query Neighbours($older: RunFilter, $newer: RunFilter) {
    older: runs(first: 1, filter: $older, orderBy: [{ field: ID, direction: DESC }]) { nodes { id } }
    newer: runs(first: 1, filter: $newer, orderBy: [{ field: ID, direction: ASC }]) { nodes { id } }
  }
`);

/** Undefined until they are known, null where there is none. */
interface Neighbours {
  readonly older?: string | null;
  readonly newer?: string | null;
}

const UNKNOWN: Neighbours = {};

/** The runs of the same task, or else of the same job, before and after this one by number. */
export function useNeighbours({ id, task, jobName }: Pick<RunDetail, "id" | "task" | "jobName">): Neighbours {
  const [found, setFound] = useState(UNKNOWN);
  const taskId = task?.id ?? null;
  useEffect(() => {
    const controller = new AbortController();
    const same = taskId === null ? { jobName: { eq: jobName } } : { taskId: { eq: taskId } };
    request(
      NeighboursDocument,
      { older: { ...same, id: { lt: id } }, newer: { ...same, id: { gt: id } } },
      controller.signal,
    ).then(
      (data) => setFound({ older: data.older.nodes[0]?.id ?? null, newer: data.newer.nodes[0]?.id ?? null }),
      (error: unknown) => {
        if (!controller.signal.aborted)
          notify(`The neighbours could not be found: ${error instanceof Error ? error.message : String(error)}`, {
            tone: "bad",
          });
      },
    );
    return () => controller.abort();
  }, [taskId, jobName, id]);
  return found;
}
