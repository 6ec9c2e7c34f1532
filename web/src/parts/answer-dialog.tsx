import { useMemo, useRef, useState } from "preact/hooks";
import type { UserError } from "../api/mutate";
import type { StepRow } from "../api/step";
import { refusalText } from "../lib/fault";
import { plural } from "../lib/format";
import { answerOf, atFields, questionsOf, readAnswer } from "../model/answer";
import { answerSignal, rejectSignal } from "../services/signals";
import { Action } from "../ui/action";
import { Dialog } from "../ui/dialog";
import { Field, focusFault, TextInput } from "../ui/field";
import { AnswerPage } from "./answer-page";
import { ArgsEditor } from "./args-editor";

interface AnswerProps {
  run: { readonly id: string };
  step: StepRow;
  onClose: () => void;
}

/** Asks for what the signal brings along: by a form, where the wait has a schema with fields. */
export function AnswerDialog({ run, step, onClose }: AnswerProps) {
  const questions = useMemo(() => questionsOf(step.form), [step.form]);
  const [text, setText] = useState(questions !== null ? "{}" : "");
  const [refused, setRefused] = useState<readonly UserError[]>([]);
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
    setRefused([]);
    if ("error" in read) return refuse(read.error);
    if (faults.current > 0) return refuse(`${plural(faults.current, "field")} cannot be sent like this`);
    setBusy(true);
    const payload = questions === null ? read.value : answerOf(questions, read.value);
    const errors = await answerSignal({ id: run.id, name: step.signal ?? step.label }, payload);
    setBusy(false);
    if (errors.length === 0) return onClose();
    if (questions !== null) setRefused(atFields(questions, errors));
    return refuse(messageOf(errors));
  };
  const change = (value: string): void => {
    setText(value);
    setError(undefined);
    setRefused([]);
  };
  return (
    <Dialog title={titleOf("Answer", run, step)} onClose={onClose} wide={questions !== null}>
      <form ref={form} class="form" onSubmit={(event) => void submit(event)} noValidate>
        {step.answerPage !== null && <AnswerPage page={step.answerPage} />}
        {questions !== null ? (
          <ArgsEditor
            answer
            value={text}
            onChange={change}
            onFaults={(count) => (faults.current = count)}
            schema={questions.schema}
            error={error}
            refused={refused}
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
            {step.answerPage?.confirm ?? "Answer"}
          </Action>
        </div>
      </form>
    </Dialog>
  );
}

function messageOf(errors: readonly UserError[]): string {
  return errors.map(refusalText).join("; ");
}

function titleOf(what: string, run: AnswerProps["run"], step: StepRow): string {
  return `${what} ${step.answerPage?.title ?? step.signal ?? step.label} of run ${run.id}`;
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
    const errors = await rejectSignal({ id: run.id, name: step.signal ?? step.label }, reason.trim());
    setBusy(false);
    if (errors.length === 0) onClose();
    else setError(messageOf(errors));
  };
  return (
    <Dialog title={titleOf("Reject", run, step)} onClose={onClose}>
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
            {step.answerPage?.reject ?? "Reject"}
          </Action>
        </div>
      </form>
    </Dialog>
  );
}
