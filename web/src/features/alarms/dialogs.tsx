import { useState } from "preact/hooks";
import { inZone } from "../../lib/time";
import { useLive } from "../../live/use-live";
import { may } from "../../live/viewer";
import { SilenceDialog } from "../../parts/dialogs";
import { Facts } from "../../parts/task-facts";
import { acknowledge, silence } from "../../services/alarms";
import { zone } from "../../state/prefs";
import { Dialog } from "../../ui/dialog";
import { Field, TextInput } from "../../ui/field";
import { FormDialog } from "../../ui/form-dialog";
import { JsonView } from "../../ui/json-view";
import { Time } from "../../ui/time";
import { Deliveries, TestedBy } from "./deliveries";
import { FiringDocument, type FiringRow } from "./document";
import { Subject } from "./firing-columns";

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
export function SilenceAlarm({ alarm, onClose }: { alarm: string; onClose: () => void }) {
  return (
    <SilenceDialog
      what={alarm}
      example="deploy"
      send={(endsAt, reason) => silence(alarm, endsAt, reason)}
      onClose={onClose}
    >
      It goes on judging: firings are recorded, and one that is still open at the end is notified then.
    </SilenceDialog>
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
