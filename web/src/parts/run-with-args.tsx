import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import type { UserError } from "../api/mutate";
import { refusalText } from "../lib/fault";
import { plural } from "../lib/format";
import { readArgs } from "../model/task-form";
import type { PreviewParts } from "../services/previews";
import { Action } from "../ui/action";
import { Dialog } from "../ui/dialog";
import { focusFault } from "../ui/field";
import { ArgsEditor } from "./args-editor";
import { DraftNote } from "./draft-note";
import { PreviewView } from "./preview";
import { useDraft } from "./use-draft";

type Send<T> = (args: Record<string, unknown>) => Promise<T>;

interface RunWithArgsProps {
  title: string;
  action: string;
  args: unknown;
  schema: unknown;
  /** Further fields, above the arguments. */
  children?: ComponentChildren;
  /** Why the arguments cannot be changed, if so. */
  fixed?: string | undefined;
  onClose: () => void;
  /** Answers whether it went well, or what was refused: unless it was, the dialog closes. */
  onRun: Send<boolean | readonly UserError[]>;
  /** Answers what it would do; null if that was refused. */
  onTry?: Send<PreviewParts | null>;
}

/** Asks for the arguments of one run. */
export function RunWithArgs({ title, action, args, schema, children, fixed, onClose, onRun, onTry }: RunWithArgsProps) {
  const draft = useDraft(title, JSON.stringify(args ?? {}, null, 2));
  const text = draft.value;
  const [error, setError] = useState<string | undefined>(undefined);
  const [refused, setRefused] = useState<readonly UserError[]>([]);
  const [busy, setBusy] = useState(false);
  const faults = useRef(0);
  const form = useRef<HTMLFormElement>(null);
  const [preview, setPreview] = useState<PreviewParts | null>(null);
  /** Does something with the arguments, if they can be sent. */
  const send = async <T,>(action: Send<T>): Promise<T | undefined> => {
    const read = readArgs(text);
    const fault =
      typeof read === "string"
        ? read
        : faults.current > 0
          ? `${plural(faults.current, "argument")} cannot be sent like this`
          : undefined;
    setError(fault);
    if (fault !== undefined || typeof read === "string") return void focusFault(form.current);
    setBusy(true);
    const done = await action(read);
    setBusy(false);
    return done;
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const answer = await send(onRun);
    if (answer === true || (Array.isArray(answer) && answer.length === 0)) return leave();
    if (answer === undefined || answer === false) return undefined;
    setRefused(answer);
    setError(refusalOf(answer));
    return focusFault(form.current);
  };
  const look = async (onTry: Send<PreviewParts | null>): Promise<void> => setPreview((await send(onTry)) ?? null);
  const leave = (): void => {
    draft.drop();
    onClose();
  };
  return (
    <Dialog title={title} onClose={leave} wide>
      {draft.restored && <DraftNote onDrop={draft.drop} />}
      <form ref={form} class="form" onSubmit={(event) => void submit(event)} noValidate>
        {children}
        {fixed !== undefined ? (
          <p class="dim">{fixed}</p>
        ) : (
          <ArgsEditor
            key={String(draft.restored)}
            value={text}
            onChange={(value) => {
              draft.set(value);
              setPreview(null);
              setError(undefined);
              setRefused([]);
            }}
            onFaults={(count) => (faults.current = count)}
            schema={schema}
            error={error}
            refused={refused}
          />
        )}
        {preview !== null && <PreviewView preview={preview} />}
        <div class="form-actions">
          <button type="button" class="button" onClick={leave}>
            Cancel
          </button>
          {onTry !== undefined && (
            <Action class="button" disabled={busy} onClick={() => void look(onTry)}>
              Dry run
            </Action>
          )}
          <Action type="submit" class="button primary" disabled={busy}>
            {action}
          </Action>
        </div>
      </form>
    </Dialog>
  );
}

/** What was refused as a whole; where each fault has a field of its own, that says it. */
function refusalOf(errors: readonly UserError[]): string {
  return errors.map(refusalText).join("\n");
}
