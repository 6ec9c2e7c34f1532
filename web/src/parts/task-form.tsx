import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { UserError } from "../api/mutate";
import { isAtZone, refusalText, withoutField } from "../lib/fault";
import { plural } from "../lib/format";
import { type Choices, changesOf, merged } from "../model/merge";
import {
  changedFields,
  EMPTY_FORM,
  type FormErrors,
  type FormField,
  fieldOfPath,
  missing,
  type Syntax,
  type TaskForm,
} from "../model/task-form";
import { zone, zoneWord } from "../state/prefs";
import { Action } from "../ui/action";
import { Dialog } from "../ui/dialog";
import { Field, focusFault, Select, TextInput } from "../ui/field";
import { ArgsEditor } from "./args-editor";
import { DraftNote } from "./draft-note";
import { ResourcesField } from "./resources-field";
import { SchedulePreview, useSchedulePreview } from "./schedule-preview";
import { TaskConflict } from "./task-conflict";
import { useDraft } from "./use-draft";

/** A job that a task can run. */
export interface JobChoice {
  readonly name: string;
  readonly argsSchema: unknown;
  readonly isolation: string;
}

interface TaskFormProps {
  title: string;
  /** The form as it is stored; null for a new task. */
  stored: TaskForm | null;
  jobs: readonly JobChoice[];
  /** Fields to begin with, such as the job that a new task was asked for. */
  start?: Partial<TaskForm>;
  /** Under which name what is typed into a new task is kept. */
  draftName?: string;
  onClose: () => void;
  /** Sends what changed; the errors of a refusal come back to their fields. */
  onSave: (input: Record<string, unknown>) => Promise<readonly UserError[]>;
}

const SYNTAXES: readonly (readonly [Syntax, string])[] = [
  ["CRON", "cron, six fields"],
  ["CALENDAR", "calendar event"],
  ["INTERVAL", "interval"],
  ["TIMESTAMP", "once"],
];

const PLACEHOLDERS: Readonly<Record<Syntax, string>> = {
  CRON: "0 30 9 * * MON-FRI",
  CALENDAR: "Mon..Fri 09:30",
  INTERVAL: "1h30m",
  TIMESTAMP: "2027-01-31T12:00:00Z",
};

const HINTS: Readonly<Record<Syntax, string>> = {
  CRON: "second minute hour day-of-month month day-of-week; both days must match when both are given",
  CALENDAR: "as systemd-analyze calendar reads it",
  INTERVAL: "90, 90s, 1h30m or PT1H30M; at least one second",
  TIMESTAMP: "RFC 3339, or milliseconds since 1970",
};

const ZONES: readonly string[] = ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")];

interface Binding {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly invalid: boolean;
}

/** Creates or edits a task. The dialog keeps what is typed, no matter what happens around it. */
export function TaskFormDialog({ title, stored, jobs, start, draftName = "new task", onClose, onSave }: TaskFormProps) {
  const before = stored ?? EMPTY_FORM;
  const draft = useDraft<Partial<TaskForm>>(stored === null ? draftName : `task ${stored.name}`, start ?? {});
  const [opened] = useState(before);
  const [choices, setChoices] = useState<Choices>({});
  const [asked, setAsked] = useState(false);
  const changes = changesOf(opened, before, draft.value);
  const form = merged(opened, before, draft.value, changes, choices);
  const undecided = changes.filter(({ label, mine }) => mine !== null && choices[label] === undefined);
  useEffect(() => setChoices({}), [stored]);
  const [errors, setErrors] = useState<FormErrors>({});
  const [general, setGeneral] = useState<readonly string[]>([]);
  const [refused, setRefused] = useState<readonly UserError[]>([]);
  const [busy, setBusy] = useState(false);
  const argFaults = useRef(0);
  const element = useRef<HTMLFormElement>(null);
  const set = (field: FormField, value: string): void => {
    const change = changes.find(({ fields }) => fields.includes(field));
    const beside = Object.fromEntries((change?.fields ?? []).map((other) => [other, form[other]]));
    draft.set({ ...draft.value, ...beside, [field]: value });
    // Who types into what the other one has changed means the own version.
    if (change !== undefined) setChoices((known) => ({ ...known, [change.label]: "mine" }));
    setErrors((known) => ({ ...known, [field]: undefined }));
    if (field === "args") setRefused([]);
  };
  const bind = (field: FormField): Binding => ({
    value: form[field],
    onChange: (value) => set(field, value),
    invalid: errors[field] !== undefined,
  });
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const { input, errors: faults } = changedFields(form, before, zone.value);
    const all = {
      ...(stored === null && missing(form)),
      ...(argFaults.current > 0 && { args: `${plural(argFaults.current, "argument")} cannot be sent like this` }),
      ...faults,
    };
    setErrors(all);
    setAsked(undecided.length > 0);
    if (Object.keys(all).length > 0 || undecided.length > 0) return focusFault(element.current);
    setBusy(true);
    const refused = await onSave({ ...input, name: form.name.trim() });
    setBusy(false);
    setRefused(refused.filter((error) => error.path.includes("args")));
    if (refused.length === 0) draft.drop();
    setErrors(
      Object.fromEntries(
        refused.flatMap((error) => {
          const field = fieldOfPath(error.path);
          return field === null ? [] : [[field, withoutField(error.message, field)]];
        }),
      ),
    );
    setGeneral(refused.filter((error) => fieldOfPath(error.path) === null).map(refusalText));
    if (refused.length > 0) focusFault(element.current);
  };
  const leave = (): void => {
    draft.drop();
    onClose();
  };
  return (
    <Dialog title={title} onClose={leave} wide>
      {draft.restored && <DraftNote onDrop={draft.drop} />}
      <form ref={element} class="form" onSubmit={(event) => void submit(event)} noValidate>
        {changes.length > 0 && <TaskConflict changes={changes} choices={choices} asked={asked} onChoose={setChoices} />}
        <div class="form-grid">
          {stored === null && (
            <Field label="Name" error={errors.name} hint="Unique; cannot be changed later">
              <TextInput {...bind("name")} placeholder="nightly-report" />
            </Field>
          )}
          <Field label="Job" error={errors.jobName}>
            <TextInput {...bind("jobName")} list="job-names" placeholder="choose a job" />
          </Field>
          <datalist id="job-names">
            {jobs.map((job) => (
              <option key={job.name} value={job.name} />
            ))}
          </datalist>
        </div>
        <ScheduleFields form={form} set={set} bind={bind} errors={errors} />
        <Field label="Description" error={errors.description}>
          <TextInput {...bind("description")} placeholder="what it is for" />
        </Field>
        {form.jobName.trim() === "" && form.args.trim() === "{}" ? (
          <p class="dim">The arguments show here once a job is chosen.</p>
        ) : (
          <ArgsEditor
            key={`${form.jobName} ${draft.restored} ${before.args} ${choices["Arguments"]}`}
            value={form.args}
            onChange={(value) => set("args", value)}
            onFaults={(count) => (argFaults.current = count)}
            schema={jobs.find((job) => job.name === form.jobName)?.argsSchema}
            error={errors.args}
            refused={refused}
          />
        )}
        {/* What is set stays in sight, also where no node is there to say how the job runs. */}
        {(form.resources !== "" || jobs.find((job) => job.name === form.jobName)?.isolation === "REMOTE") && (
          <ResourcesField {...bind("resources")} error={errors.resources} />
        )}
        <Policies bind={bind} errors={errors} />
        {general.map((message) => (
          <p key={message} class="field-error" role="alert">
            {message}
          </p>
        ))}
        <div class="form-actions">
          <button type="button" class="button" onClick={leave}>
            Cancel
          </button>
          <Action type="submit" class="button primary" disabled={busy}>
            {stored === null ? "Create task" : "Save changes"}
          </Action>
        </div>
      </form>
    </Dialog>
  );
}

interface PartProps {
  bind: (field: FormField) => Binding;
  errors: FormErrors;
}

function ScheduleFields({
  form,
  set,
  bind,
  errors,
}: PartProps & { form: TaskForm; set: (field: FormField, value: string) => void }) {
  const preview = useSchedulePreview(form);
  const fault = preview?.answer?.error ?? null;
  const atZone = isAtZone(fault);
  return (
    <fieldset class="schedule-fields">
      <legend class="field-label">Schedule</legend>
      <div class="schedule-grid">
        <Field label="Kind">
          <Select {...bind("syntax")} options={SYNTAXES} />
        </Field>
        <Field label="When" error={errors.value} hint={HINTS[form.syntax]}>
          <TextInput
            {...bind("value")}
            invalid={errors.value !== undefined || (fault !== null && !atZone)}
            placeholder={PLACEHOLDERS[form.syntax]}
            mono
            describedBy="schedule-fault"
          />
        </Field>
        <Field
          label="Time zone"
          error={errors.timezone ?? (fault !== null && atZone ? withoutField(fault.message, "timezone") : undefined)}
        >
          <TextInput {...bind("timezone")} invalid={errors.timezone !== undefined || atZone} list="time-zones" />
        </Field>
        <datalist id="time-zones">
          {ZONES.map((zone) => (
            <option key={zone} value={zone} />
          ))}
        </datalist>
      </div>
      <SchedulePreview
        preview={preview}
        timezone={form.timezone}
        onUse={(value) => set(atZone ? "timezone" : "value", value)}
      />
    </fieldset>
  );
}

const OVERLAPS = [
  ["", "default for the schedule"],
  ["SKIP", "skip while one is unfinished"],
  ["QUEUE", "queue, never two at once"],
  ["ALLOW", "allow"],
  ["REPLACE", "replace: cancel the older"],
] as const;

const MISFIRES = [
  ["", "default (the newest)"],
  ["LAST", "run the newest"],
  ["ALL", "run all, up to the limit"],
  ["NONE", "run none"],
] as const;

/** Fields that are always in sight; an error in any other opens the rest. */
const BEFORE_POLICIES: readonly string[] = [
  "name",
  "jobName",
  "syntax",
  "value",
  "timezone",
  "description",
  "args",
  "resources",
];

function Policies({ bind, errors }: PartProps) {
  return (
    <details
      class="more-fields"
      open={Object.entries(errors).some(
        ([field, message]) => message !== undefined && !BEFORE_POLICIES.includes(field),
      )}
    >
      <summary>Policies, limits and queue</summary>
      <FormSection title="When it is due">
        <Field label="Overlap" error={errors.overlap}>
          <Select {...bind("overlap")} options={OVERLAPS} />
        </Field>
        <Field label="Missed occurrences" error={errors.misfire}>
          <Select {...bind("misfire")} options={MISFIRES} />
        </Field>
        <Field label="Catch up at most" error={errors.catchUpLimit} hint="100 unless given">
          <TextInput {...bind("catchUpLimit")} />
        </Field>
        <Field label="Late by up to" unit="s" error={errors.misfireGrace} hint="60 unless given">
          <TextInput {...bind("misfireGrace")} />
        </Field>
        <Field label="Tolerance" unit="s" error={errors.tolerance} hint="intervals only">
          <TextInput {...bind("tolerance")} />
        </Field>
        <Field label="Jitter" unit="s" error={errors.jitter} hint="0 unless given">
          <TextInput {...bind("jitter")} />
        </Field>
        <Field label={`Not before (${zoneWord()})`} error={errors.startAt}>
          <TextInput {...bind("startAt")} type="datetime-local" />
        </Field>
        <Field label={`Not after (${zoneWord()})`} error={errors.endAt}>
          <TextInput {...bind("endAt")} type="datetime-local" />
        </Field>
      </FormSection>
      <FormSection title="Attempts">
        <Field label="Time box" unit="s" error={errors.timeout} hint="none; half of an interval">
          <TextInput {...bind("timeout")} />
        </Field>
        <Field label="Retries" error={errors.retries} hint="2 unless given">
          <TextInput {...bind("retries")} />
        </Field>
        <Field label="Retry delay" unit="s" error={errors.retryDelay} hint="60, doubled each time">
          <TextInput {...bind("retryDelay")} />
        </Field>
      </FormSection>
      <FormSection title="Queue">
        <Field label="Group" error={errors.group}>
          <TextInput {...bind("group")} placeholder="default" />
        </Field>
        <Field label="Priority" error={errors.priority}>
          <Select
            {...bind("priority")}
            options={[
              ["", "default (low)"],
              ["HIGH", "high"],
              ["LOW", "low"],
            ]}
          />
        </Field>
        <Field
          label="Starts at most"
          error={errors.rate}
          hint="such as 100/1m or 100/1m, 20 at once; as the job says unless given"
        >
          <TextInput {...bind("rate")} />
        </Field>
      </FormSection>
      <FormSection title="Belongs to">
        <Field label="Owner" error={errors.owner} hint="such as channel:42">
          <TextInput {...bind("owner")} />
        </Field>
        <Field label="Labels" error={errors.labels} hint="such as team=billing, plan=pro">
          <TextInput {...bind("labels")} />
        </Field>
      </FormSection>
    </details>
  );
}

/** Fields that belong together, under a heading. */
function FormSection({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <fieldset class="form-section">
      <legend>{title}</legend>
      <div class="form-grid">{children}</div>
    </fieldset>
  );
}
