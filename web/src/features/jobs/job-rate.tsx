import { useState } from "preact/hooks";
import { type Rate, rateText, readRate } from "../../lib/limits";
import { updateJobRate } from "../../services/jobs";
import { notify } from "../../state/announce";
import { Action } from "../../ui/action";
import { Field, TextInput } from "../../ui/field";
import { FormDialog } from "../../ui/form-dialog";

interface JobRateProps {
  onChanged: () => void;
  job: {
    readonly name: string;
    readonly declaredRate: Rate | null;
    readonly limits: { readonly rate: Rate | null } | null;
  };
}

/** The rate of a job, which an operator can change while it runs; nothing where its code says none. */
export function JobRate({ job, onChanged }: JobRateProps) {
  const [asking, setAsking] = useState(false);
  const rate = job.limits?.rate ?? null;
  if (rate === null) return null;
  const why =
    job.declaredRate === null ? "As its code says" : `Set by an operator; its code says ${rateText(job.declaredRate)}`;
  return (
    <span class="dim cell-sub" title={why}>
      rate <span class="num">{rateText(rate)}</span>
      {job.declaredRate !== null && ", set by an operator"}{" "}
      <Action class="button small" aria-label={`Change the rate of ${job.name}…`} onClick={() => setAsking(true)}>
        Change…
      </Action>
      {asking && (
        <JobRateDialog
          name={job.name}
          rate={rate}
          declared={job.declaredRate ?? rate}
          onClose={() => setAsking(false)}
          onChanged={onChanged}
        />
      )}
    </span>
  );
}

function JobRateDialog({
  name,
  rate,
  declared,
  onClose,
  onChanged,
}: {
  name: string;
  rate: Rate;
  declared: Rate;
  onClose: () => void;
  onChanged: () => void;
}) {
  const [text, setText] = useState(rateText(rate));
  const read = text.trim() === "" ? null : readRate(text);
  const wrong = typeof read === "string" ? read : undefined;
  return (
    <FormDialog
      title={`Rate of ${name}`}
      action="Save"
      needs="OPERATOR"
      onClose={onClose}
      send={async () => (typeof read === "string" ? { ok: false, errors: [] } : updateJobRate(name, read))}
      onDone={() => {
        notify(read === null ? `${name} has the rate of its code` : `${name} starts ${text.trim()} at most`);
        onClose();
        onChanged();
      }}
    >
      {(fault) => (
        <Field
          label="Starts in a time, on all nodes"
          hint={`E.g. 100/1m. Empty: that of its code, ${rateText(declared)}`}
          error={wrong ?? fault("rate")}
        >
          <TextInput value={text} onChange={setText} />
        </Field>
      )}
    </FormDialog>
  );
}
