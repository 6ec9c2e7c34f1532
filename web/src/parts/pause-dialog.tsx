import { useState } from "preact/hooks";
import { readTime } from "../model/task-form";
import { zone, zoneWord } from "../state/prefs";
import { Action } from "../ui/action";
import { Dialog } from "../ui/dialog";
import { Field, TextInput } from "../ui/field";

interface PauseDialogProps {
  name: string;
  onClose: () => void;
  /** With the reason, and the time at which the pause ends by itself, if any. */
  onPause: (reason: string, resumeAt: string | null) => void;
}

/** Asks why and until when: the reason shows wherever the paused thing shows. */
export function PauseDialog({ name, onClose, onPause }: PauseDialogProps) {
  const [reason, setReason] = useState("");
  const [until, setUntil] = useState("");
  return (
    <Dialog title={`Pause ${name}`} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          onPause(reason.trim(), until === "" ? null : readTime(until, zone.value));
        }}
      >
        <Field label="Reason" hint="Shown to everybody">
          <TextInput value={reason} onChange={setReason} placeholder="database maintenance" />
        </Field>
        <Field label={`Until (${zoneWord()})`} hint="Empty = until somebody resumes it">
          <TextInput value={until} onChange={setUntil} type="datetime-local" />
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
