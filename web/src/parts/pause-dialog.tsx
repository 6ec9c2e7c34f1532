import { useState } from "preact/hooks";
import { Action } from "../ui/action";
import { Dialog } from "../ui/dialog";
import { Field, TextInput } from "../ui/field";

interface PauseDialogProps {
  name: string;
  onClose: () => void;
  onPause: (reason: string) => void;
}

/** Asks why: the reason shows wherever the paused thing shows. */
export function PauseDialog({ name, onClose, onPause }: PauseDialogProps) {
  const [reason, setReason] = useState("");
  return (
    <Dialog title={`Pause ${name}`} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          onPause(reason.trim());
        }}
      >
        <Field label="Reason" hint="Shown to everybody">
          <TextInput value={reason} onChange={setReason} placeholder="database maintenance" />
        </Field>
        <p class="dim">Occurrences while it is paused are recorded as skipped. What runs now goes on.</p>
        <div class="form-actions">
          <button type="button" class="button" onClick={onClose}>
            Keep it running
          </button>
          <Action type="submit" class="button primary">
            Pause
          </Action>
        </div>
      </form>
    </Dialog>
  );
}
