import { useState } from "preact/hooks";
import { inZone, localInput, readTime } from "../../lib/time";
import { serverNow } from "../../live/clock";
import { useLive } from "../../live/use-live";
import { may } from "../../live/viewer";
import { Facts } from "../../parts/task-facts";
import { acknowledge, silence } from "../../services/alarms";
import { zone, zoneWord } from "../../state/prefs";
import { Dialog } from "../../ui/dialog";
import { Field, TextInput } from "../../ui/field";
import { FormDialog } from "../../ui/form-dialog";
import { JsonView } from "../../ui/json-view";
import { Time } from "../../ui/time";
import { Deliveries, TestedBy } from "./deliveries";
import { FiringDocument, type FiringRow } from "./document";
import { Subject } from "./firing-columns";

/** A silence lasts so many milliseconds unless one says otherwise. */
const USUAL_SILENCE = 3_600_000;

interface AcknowledgeProps {
  /** What is acknowledged. */
  which: FiringRow | "all";
  onClose: () => void;
}

/** Asks for a note, which others see. */
export function AcknowledgeDialog({ which, onClose }: AcknowledgeProps) {
  const [note, setNote] = useState("");
  return (
    <FormDialog
      title={which === "all" ? "Acknowledge all that fires?" : `Acknowledge ${which.alarmName}?`}
      action="Acknowledge"
      needs="OPERATOR"
      onClose={onClose}
      send={() => acknowledge(which, note.trim())}
      onDone={onClose}
    >
      {(fault) => (
        <>
          <p>
            {which === "all"
              ? "Others see that you take care of it."
              : `${inZone(which.sentence, zone.value)}. Others see that you take care of it.`}
          </p>
          <Field label="Note" hint="Shown to everybody" error={fault("note")}>
            <TextInput value={note} onChange={setNote} invalid={fault("note") !== undefined} />
          </Field>
        </>
      )}
    </FormDialog>
  );
}

/** Asks until when an alarm is quiet, and why. */
export function SilenceDialog({ alarm, onClose }: { alarm: string; onClose: () => void }) {
  const [until, setUntil] = useState(() =>
    localInput(new Date(serverNow() + USUAL_SILENCE).toISOString(), zone.peek()),
  );
  const [reason, setReason] = useState("");
  return (
    <FormDialog
      title={`Silence ${alarm}`}
      action="Silence it"
      needs="OPERATOR"
      onClose={onClose}
      send={async () =>
        until === ""
          ? {
              ok: false,
              errors: [{ code: "INVALID_INPUT", message: "Say until when it is quiet", path: ["endsAt"] }],
            }
          : await silence(alarm, readTime(until, zone.peek()), reason.trim())
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
              placeholder="deploy"
              invalid={fault("reason") !== undefined}
            />
          </Field>
          <p class="dim">
            It goes on judging: firings are recorded, and one that is still open at the end is notified then.
          </p>
        </>
      )}
    </FormDialog>
  );
}

/** All that is known of a firing, with the messages about it. */
export function FiringDialog({ firing: known, onClose }: { firing: FiringRow; onClose: () => void }) {
  const { state } = useLive(`firing/${known.id}`, {
    document: FiringDocument,
    variables: () => ({ id: known.id }),
    init: ({ alarmFirings }) => alarmFirings?.nodes[0] ?? known,
    outdates: ({ kind }) => kind.startsWith("ALARM_"),
  });
  const firing = state ?? known;
  const { scheduledFor, lastSuccessAt, resolvedAt, explanation } = firing;
  return (
    <Dialog title={`${firing.alarmName}, firing ${firing.id}`} wide onClose={onClose} askBefore={false}>
      <p>{inZone(firing.sentence, zone.value)}.</p>
      {explanation !== null && <p class="dim">{inZone(explanation, zone.value)}</p>}
      <Facts
        entries={[
          ["Subject", <Subject subject={firing.subject} />],
          ["Occurrence", scheduledFor === null ? "none" : <Time at={scheduledFor} form="full" />],
          ["Fired", <Time at={firing.firedAt} form="full" />],
          ["Resolved", resolvedAt === null ? "not yet" : <Time at={resolvedAt} form="full" />],
          ["Last success", lastSuccessAt === null ? "none is known" : <Time at={lastSuccessAt} form="full" />],
        ]}
      />
      <h3>Values that decided</h3>
      <JsonView value={firing.policy} label="values that decided" />
      {may("OPERATOR") && (
        <>
          <h3>Messages</h3>
          <Deliveries firing={firing} />
        </>
      )}
    </Dialog>
  );
}

/** What the other side of a channel says to a test message. */
export function TestDialog({ channel, delivery, onClose }: { channel: string; delivery: string; onClose: () => void }) {
  return (
    <Dialog title={`Test of ${channel}`} onClose={onClose} askBefore={false}>
      <TestedBy delivery={delivery} />
      <div class="form-actions">
        <button type="button" class="button" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
