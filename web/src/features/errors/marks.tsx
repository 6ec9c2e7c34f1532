import { useState } from "preact/hooks";
import { SilenceDialog } from "../../parts/dialogs";
import type { FailureGroupRow } from "../../parts/failure-groups";
import { endSilenceOfFailures, reopenFailures, silenceFailures, solveFailures } from "../../services/failures";
import { Action } from "../../ui/action";
import { Field, TextInput } from "../../ui/field";
import { FormDialog } from "../../ui/form-dialog";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";

type Marked = Pick<FailureGroupRow, "fingerprint" | "jobName" | "state" | "mark">;

interface MarkActionsProps {
  group: Marked;
  /** The version that the code of the job says now; null if it says none. */
  codeVersion: string | null;
}

/** Says of an error that it is known, or solved, and takes that back. */
export function MarkActions({ group, codeVersion }: MarkActionsProps) {
  const [asked, setAsked] = useState<"silence" | "solve" | null>(null);
  const close = (): void => setAsked(null);
  return (
    <>
      {group.state === "SILENCED" ? (
        <Action class="button" onClick={() => void endSilenceOfFailures(group)}>
          End the silence
        </Action>
      ) : (
        <Action class="button" onClick={() => setAsked("silence")}>
          Silence…
        </Action>
      )}
      {group.mark?.solvedAt != null && (
        <Action class="button" onClick={() => void reopenFailures(group)}>
          Reopen
        </Action>
      )}
      {group.state !== "SOLVED" && (
        <Action class="button" onClick={() => setAsked("solve")}>
          Solved…
        </Action>
      )}
      {asked === "silence" && (
        <SilenceDialog
          what="this error"
          example="the disk comes on Friday"
          send={(endsAt, reason) => silenceFailures(group, endsAt, reason)}
          onClose={close}
        >
          Its failures are recorded and listed. Until then it is no new error, and the overview is not red for it.
        </SilenceDialog>
      )}
      {asked === "solve" && <SolveDialog group={group} codeVersion={codeVersion} onClose={close} />}
    </>
  );
}

function SolveDialog({ group, codeVersion, onClose }: MarkActionsProps & { onClose: () => void }) {
  const [version, setVersion] = useState("");
  return (
    <FormDialog
      title="Solved"
      action="It is solved"
      needs="OPERATOR"
      onClose={onClose}
      send={() => solveFailures(group, version.trim())}
      onDone={onClose}
    >
      {(fault) => (
        <>
          {codeVersion !== null && (
            <Field
              label="In version"
              hint={`Empty = now; the newest that nodes have is ${codeVersion}`}
              error={fault("codeVersion")}
            >
              <TextInput value={version} onChange={setVersion} invalid={fault("codeVersion") !== undefined} />
            </Field>
          )}
          <p class="dim">
            {codeVersion === null
              ? `The code of ${group.jobName} says no version, so each failure that begins from now on brings the error back.`
              : "Failures of the code that had it are expected until it is gone. One in another version, or without a version here any failure that begins from now on, brings the error back."}
          </p>
        </>
      )}
    </FormDialog>
  );
}

/** What people said of an error, in a line; nothing if they said nothing. */
export function MarkLine({ group: { state, mark } }: { group: Marked }) {
  if (mark === null || state === "OPEN") return null;
  const { silenceEndsAt, silencedBy, silenceReason, solvedAt, solvedBy, solvedIn } = mark;
  return (
    <p>
      <Status name={state} />{" "}
      {state === "SILENCED" && silenceEndsAt !== null && (
        <>
          until <Time at={silenceEndsAt} form="moment" /> by {silencedBy}
          {silenceReason !== null && `: ${silenceReason}`}
        </>
      )}
      {state !== "SILENCED" && solvedAt !== null && (
        <>
          {state === "REGRESSED" && "It was said to be solved "}
          {solvedIn !== null && `in ${solvedIn} `}
          <Time at={solvedAt} form="moment" /> by {solvedBy}
        </>
      )}
    </p>
  );
}
