import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Outcome, UserError } from "../api/mutate";
import { refusalText, withoutField } from "../lib/fault";
import type { Role } from "../live/viewer";
import { Action } from "./action";
import { Dialog } from "./dialog";
import { focusFault } from "./field";

interface FormDialogProps<T> {
  title: string;
  action: string;
  needs: Role;
  onClose: () => void;
  /** Sends the form. */
  send: () => Promise<Outcome<T>>;
  /** Called once the server has done it; closes the dialog. */
  onDone: (value: T) => void;
  /** A second button, which asks the server what the form would do. */
  trial?: { readonly action: string; readonly send: () => Promise<Outcome<unknown>> };
  /** The fields; each shows what `fault` says of it. */
  children: (fault: (field: string) => string | undefined) => ComponentChildren;
}

/** A dialog with a form that the server judges: what it says stands under the field that it is about. */
export function FormDialog<T>({ title, action, needs, onClose, send, onDone, trial, children }: FormDialogProps<T>) {
  const form = useRef<HTMLFormElement>(null);
  const [busy, setBusy] = useState(false);
  const [errors, setErrors] = useState<readonly UserError[]>([]);
  const asked = new Set<string>();
  const fault = (field: string): string | undefined => {
    asked.add(field);
    const found = errors.find((error) => error.path[0] === field);
    return found && withoutField(found.message, field);
  };
  const submit = async <R,>(sent: () => Promise<Outcome<R>>, done: (value: R) => void): Promise<void> => {
    setBusy(true);
    const outcome = await sent();
    setBusy(false);
    setErrors(outcome.ok ? [] : outcome.errors);
    if (outcome.ok) done(outcome.value);
    else focusFault(form.current);
  };
  const fields = children(fault);
  // What belongs to no field that is shown.
  const others = errors.filter(({ path: [field] }) => field === undefined || !asked.has(field));
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        ref={form}
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void submit(send, onDone);
        }}
      >
        {others.map((error) => (
          <p key={error.message} class="field-error" role="alert">
            {refusalText(error)}
          </p>
        ))}
        {fields}
        <div class="form-actions">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          {trial !== undefined && (
            <Action class="button" needs={needs} disabled={busy} onClick={() => void submit(trial.send, () => {})}>
              {trial.action}
            </Action>
          )}
          <Action type="submit" class="button primary" needs={needs} disabled={busy}>
            {action}
          </Action>
        </div>
      </form>
    </Dialog>
  );
}
