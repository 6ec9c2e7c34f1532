import { useEffect, useRef, useState } from "preact/hooks";
import { plural } from "../lib/format";
import { feed } from "../live";
import { type PreviewParts, tryRetries } from "../services/previews";
import { AT_ONCE, type BulkKind, type BulkTarget, beginBulk, changeRuns, countBulk } from "../services/runs";
import { Action } from "../ui/action";
import { Dialog } from "../ui/dialog";
import { BulkProgress } from "./bulk-progress";
import { PreviewView } from "./preview";

interface BulkDialogProps {
  kind: BulkKind;
  target: BulkTarget;
  /** Left as they are: nothing was changed. */
  onClose: () => void;
  /** It is done, as far as it could be. */
  onDone: () => void;
}

interface Words {
  readonly question: string;
  readonly action: string;
  /** Of the dialog while it is done. */
  readonly title: string;
}

const WORDS: Readonly<Record<BulkKind, Words>> = {
  cancel: { question: "Cancel runs?", action: "Cancel them", title: "Cancelling runs" },
  retry: { question: "Try runs again?", action: "Try them again", title: "Trying runs again" },
  high: { question: "Give runs high priority?", action: "Set high", title: "Setting high priority" },
  low: { question: "Give runs low priority?", action: "Set low", title: "Setting low priority" },
};

const NOTHING_LEFT = "There is no run left that this would change";

/** Milliseconds from count to count while runs change. */
const RECOUNT = 1_000;

/** Has the server count now and whenever runs have changed, until the answer is called. */
function countOn(kind: BulkKind, target: BulkTarget, tell: (count: number | null) => void): () => void {
  let closed = false;
  let timer: ReturnType<typeof setTimeout> | null = null;
  const count = async (): Promise<void> => {
    const value = await countBulk(kind, target);
    if (!closed) tell(value);
  };
  const later = (): void => {
    timer ??= setTimeout(() => {
      timer = null;
      void count();
    }, RECOUNT);
  };
  const stop = feed.listen({
    event: (event) => event.kind.startsWith("RUN_") && later(),
    resync: later,
    connected: later,
  });
  void count();
  return () => {
    closed = true;
    stop();
    if (timer !== null) clearTimeout(timer);
  };
}

/**
 * Says how many runs it concerns, counted by the server, and has it done: a few at once, more by a run of the server,
 * which goes on when the dialog is closed.
 */
export function BulkDialog({ kind, target, onClose, onDone }: BulkDialogProps) {
  const [count, setCount] = useState<number | null>(null);
  const [busy, setBusy] = useState(false);
  const [doneBy, setDoneBy] = useState<string | null>(null);
  const [preview, setPreview] = useState<PreviewParts | null>(null);
  const words = WORDS[kind];
  const started = useRef(false);
  const nothing = count === 0 && !busy ? NOTHING_LEFT : null;
  useEffect(
    () =>
      countOn(kind, target, (value) => (started.current ? undefined : value === null ? onClose() : setCount(value))),
    [],
  );
  const start = async (): Promise<void> => {
    started.current = true;
    setBusy(true);
    if ((count ?? 0) > AT_ONCE) {
      const id = await beginBulk(kind, target);
      if (id !== null) return setDoneBy(id);
    } else {
      await changeRuns(kind, target);
    }
    onDone();
  };
  if (doneBy !== null) {
    return (
      <Dialog title={words.title} onClose={onDone}>
        <BulkProgress key={doneBy} id={doneBy} kind={kind} onUndo={setDoneBy} onClose={onDone} />
      </Dialog>
    );
  }
  return (
    <Dialog title={words.question} onClose={onClose}>
      {count === null ? (
        <p class="dim">Counting…</p>
      ) : (
        <p>
          This concerns <strong class="num">{plural(count, "run")}</strong>
          {"filter" in target ? ", all that match the filter." : ", those you selected."}
        </p>
      )}
      {preview !== null && !busy && <PreviewView preview={preview} />}
      <div class="form-actions">
        <button type="button" class="button" onClick={onClose}>
          Leave them
        </button>
        {kind === "retry" && (
          <Action
            class="button"
            disabled={count === null || busy}
            reason={nothing}
            onClick={() => void tryRetries(target).then(setPreview)}
          >
            Dry run
          </Action>
        )}
        <Action
          class={kind === "cancel" ? "button danger" : "button primary"}
          disabled={count === null || busy}
          reason={nothing}
          onClick={() => void start()}
        >
          {words.action}
        </Action>
      </div>
    </Dialog>
  );
}
