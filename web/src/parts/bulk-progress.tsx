import { graphql } from "../api/tada";
import { integer } from "../lib/format";
import { paths } from "../lib/paths";
import { inZone } from "../lib/time";
import { useLive } from "../live/use-live";
import { type BulkKind, cancelRun, undoBulk } from "../services/runs";
import { zone } from "../state/prefs";
import { Action } from "../ui/action";
import { LivePart } from "../ui/live-part";

const BulkRunDocument = graphql(`
  query BulkRun($id: ID!) {
    asOf
    serverTime
    run(id: $id) {
      id
      jobName
      state
      error
      cancelRequestedAt
      finishedAt
      progress { done total message }
      explain { sentence }
    }
  }
`);

interface BulkProgressProps {
  /** Of the run that changes the others. */
  id: string;
  kind: BulkKind;
  /** It is being undone, by the run with this id. */
  onUndo: (id: string) => void;
  onClose: () => void;
}

/** How far a bulk action is, a stop, and once it is over a way back. */
export function BulkProgress({ id, kind, onUndo, onClose }: BulkProgressProps) {
  const live = useLive(`bulk/${id}`, {
    document: BulkRunDocument,
    variables: () => ({ id }),
    init: ({ run }) => ({ run }),
    outdates: (event) => event.runId === id,
  });
  return (
    <LivePart live={live} rows={3}>
      {({ run }) => {
        if (run === null) return <p>There is no run {id} any more.</p>;
        const { progress } = run;
        const over = run.finishedAt !== null;
        const isUndo = run.jobName === "undo_bulk_action";
        return (
          <>
            {progress === null ? (
              <p>{inZone(run.explain.sentence, zone.value)}</p>
            ) : (
              <p class="progress">
                <progress max={Math.max(1, progress.total ?? 1)} value={progress.done} aria-label="Progress" />
                <span class="num">
                  {integer(progress.done)} of {integer(progress.total ?? progress.done)} {progress.message}
                </span>
              </p>
            )}
            {over && run.state !== "SUCCESS" && <p>{run.error ?? "It was stopped."}</p>}
            <p>
              {over ? "Done by " : "It goes on when this is closed: "}
              <a href={paths.run(id)}>run {id}</a>
              {kind === "retry" && !isUndo && (
                <>
                  {" · "}
                  <a href={paths.madeByBulk(id)}>the new runs</a>
                </>
              )}
            </p>
            <div class="form-actions">
              <button type="button" class="button" onClick={onClose}>
                Close
              </button>
              {over ? (
                !isUndo && (
                  <Action class="button" onClick={() => void undoBulk(id).then((by) => by !== null && onUndo(by))}>
                    Undo
                  </Action>
                )
              ) : (
                <Action
                  class="button danger"
                  reason={run.cancelRequestedAt === null ? null : "It stops after the runs that it changes just now"}
                  onClick={() => void cancelRun(id)}
                >
                  {run.cancelRequestedAt === null ? "Stop" : "Stopping…"}
                </Action>
              )}
            </div>
          </>
        );
      }}
    </LivePart>
  );
}
