import { useRef, useState } from "preact/hooks";
import type { StepRow } from "../api/step";
import { plural } from "../lib/format";
import { hasFields, readAnswer } from "../model/answer";
import { answerSignal, rejectSignal } from "../services/signals";
import { Action } from "../ui/action";
import { Dialog } from "../ui/dialog";
import { Field, focusFault, TextInput } from "../ui/field";
import { ArgsEditor } from "./args-editor";

interface AnswerProps {
  run: { readonly id: string };
  step: StepRow;
  onClose: () => void;
}

/** Asks for what the signal brings along: by a form, where the wait has a schema with fields. */
export function AnswerDialog({ run, step, onClose }: AnswerProps) {
  const withFields = hasFields(step.form);
  const [text, setText] = useState(withFields ? "{}" : "");
  const [error, setError] = useState<string | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const faults = useRef(0);
  const form = useRef<HTMLFormElement>(null);
  const refuse = (why: string): void => {
    setError(why);
    focusFault(form.current);
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const read = readAnswer(text);
    if ("error" in read) return refuse(read.error);
    if (faults.current > 0) return refuse(`${plural(faults.current, "field")} cannot be sent like this`);
    setBusy(true);
    const fault = await answerSignal({ id: run.id, name: step.signal ?? step.label }, read.value);
    setBusy(false);
    if (fault === null) onClose();
    else refuse(fault);
  };
  const change = (value: string): void => {
    setText(value);
    setError(undefined);
  };
  return (
    <Dialog title={`Answer ${step.signal ?? step.label} of run ${run.id}`} onClose={onClose} wide={withFields}>
      <form ref={form} class="form" onSubmit={(event) => void submit(event)} noValidate>
        {withFields ? (
          <ArgsEditor
            title="Answer"
            value={text}
            onChange={change}
            onFaults={(count) => (faults.current = count)}
            schema={step.form}
            error={error}
          />
        ) : (
          <Field
            label="Answer as JSON"
            hint={step.form === null ? "Any JSON; may be empty" : `As this schema says: ${JSON.stringify(step.form)}`}
            error={error}
          >
            <TextInput value={text} onChange={change} invalid={error !== undefined} mono placeholder='{"by": "ada"}' />
          </Field>
        )}
        <div class="form-actions">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <Action type="submit" class="button primary" needs={step.role ?? "OPERATOR"} disabled={busy}>
            Answer
          </Action>
        </div>
      </form>
    </Dialog>
  );
}

/** Asks why not: the job is told the reason. */
export function RejectDialog({ run, step, onClose }: AnswerProps) {
  const [reason, setReason] = useState("");
  const [error, setError] = useState<string | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (reason.trim() === "") return setError("Must be given: the job gets it as the reason");
    setBusy(true);
    const fault = await rejectSignal({ id: run.id, name: step.signal ?? step.label }, reason.trim());
    setBusy(false);
    if (fault === null) onClose();
    else setError(fault);
  };
  return (
    <Dialog title={`Reject ${step.signal ?? step.label} of run ${run.id}`} onClose={onClose}>
      <form class="form" onSubmit={(event) => void submit(event)} noValidate>
        <Field
          label="Reason"
          hint="The job gets it as the reason. Its run fails, unless the job handles that"
          error={error}
        >
          <TextInput value={reason} onChange={setReason} invalid={error !== undefined} placeholder="too expensive" />
        </Field>
        <div class="form-actions">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <Action type="submit" class="button danger" needs={step.role ?? "OPERATOR"} disabled={busy}>
            Reject
          </Action>
        </div>
      </form>
    </Dialog>
  );
}
