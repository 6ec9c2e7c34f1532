import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Outcome } from "../api/mutate";
import { localInput, readTime } from "../lib/time";
import { serverNow } from "../live/clock";
import { zone, zoneWord } from "../state/prefs";
import { Field, TextInput } from "../ui/field";
import { FormDialog } from "../ui/form-dialog";

/** A silence lasts so many milliseconds unless one says otherwise. */
const USUAL_SILENCE = 3_600_000;

interface SilenceDialogProps {
  /** What becomes silent. */
  what: string;
  example: string;
  send: (endsAt: string, reason: string) => Promise<Outcome<null>>;
  onClose: () => void;
  /** What goes on meanwhile. */
  children: ComponentChildren;
}

/** Asks until when an alarm, or a group of failures, is quiet, and why. */
export function SilenceDialog({ what, example, send, onClose, children }: SilenceDialogProps) {
  const [until, setUntil] = useState(() =>
    localInput(new Date(serverNow() + USUAL_SILENCE).toISOString(), zone.peek()),
  );
  const [reason, setReason] = useState("");
  return (
    <FormDialog
      title={`Silence ${what}`}
      action="Silence it"
      needs="OPERATOR"
      onClose={onClose}
      send={async () =>
        until === ""
          ? {
              ok: false,
              errors: [{ code: "INVALID_INPUT", message: "Say until when it is quiet", path: ["endsAt"] }],
            }
          : await send(readTime(until, zone.peek()), reason.trim())
      }
      onDone={onClose}
    >
      {(fault) => (
        <>
          <Field label={`Until (${zoneWord()})`} error={fault("endsAt")}>
            <TextInput
              type="datetime-local"
              value={until}
              onChange={setUntil}
              invalid={fault("endsAt") !== undefined}
            />
          </Field>
          <Field label="Reason" hint="Shown to everybody" error={fault("reason")}>
            <TextInput
              value={reason}
              onChange={setReason}
              placeholder={example}
              invalid={fault("reason") !== undefined}
            />
          </Field>
          <p class="dim">{children}</p>
        </>
      )}
    </FormDialog>
  );
}
