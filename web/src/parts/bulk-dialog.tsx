import { useEffect, useRef, useState } from "preact/hooks";
import { integer, plural } from "../lib/format";
import { feed } from "../live";
import { type PreviewParts, tryRetries } from "../services/previews";
import { type BulkKind, type BulkTarget, countBulk, runBulk } from "../services/runs";
import { notify } from "../state/announce";
import { Action } from "../ui/action";
import { Dialog } from "../ui/dialog";
import { PreviewView } from "./preview";

interface BulkDialogProps {
  kind: BulkKind;
  target: BulkTarget;
  /** Left as they are: nothing was changed. */
  onClose: () => void;
  /** It is done, as far as it could be. */
  onDone: () => void;
}

const WORDS: Readonly<Record<BulkKind, { readonly question: string; readonly action: string; readonly done: string }>> =
  {
    cancel: { question: "Cancel runs?", action: "Cancel them", done: "cancelled or asked to stop" },
    retry: { question: "Try runs again?", action: "Try them again", done: "tried again" },
    high: { question: "Give runs high priority?", action: "Set high", done: "set to high priority" },
    low: { question: "Give runs low priority?", action: "Set low", done: "set to low priority" },
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

/** Says how many runs it concerns, counted by the server, then does it and shows how far it is. */
export function BulkDialog({ kind, target, onClose, onDone }: BulkDialogProps) {
  const [count, setCount] = useState<number | null>(null);
  const [done, setDone] = useState<number | null>(null);
  const [preview, setPreview] = useState<PreviewParts | null>(null);
  const words = WORDS[kind];
  const started = useRef(false);
  const nothing = count === 0 && done === null ? NOTHING_LEFT : null;
  useEffect(
    () =>
      countOn(kind, target, (value) => (started.current ? undefined : value === null ? onClose() : setCount(value))),
    [],
  );
  const start = async (): Promise<void> => {
    started.current = true;
    setDone(0);
    const changed = await runBulk(kind, target, setDone);
    if (changed !== null) notify(`${plural(changed, "run")} ${words.done}`);
    onDone();
  };
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
      {done !== null && count !== null && (
        <p class="progress">
          <progress max={Math.max(1, count)} value={done} aria-label="Progress" />
          <span class="num">
            {integer(done)} of {integer(count)}
          </span>
        </p>
      )}
      {preview !== null && done === null && <PreviewView preview={preview} />}
      <div class="form-actions">
        <button type="button" class="button" onClick={onClose}>
          Leave them
        </button>
        {kind === "retry" && (
          <Action
            class="button"
            disabled={count === null || done !== null}
            reason={nothing}
            onClick={() => void tryRetries(target).then(setPreview)}
          >
            Dry run
          </Action>
        )}
        <Action
          class={kind === "cancel" ? "button danger" : "button primary"}
          disabled={count === null || done !== null}
          reason={nothing}
          onClick={() => void start()}
        >
          {words.action}
        </Action>
      </div>
    </Dialog>
  );
}
