import { useEffect, useState } from "preact/hooks";
import { request } from "../../api/client";
import type { Span } from "../../lib/spans";
import { createAlarm } from "../../services/alarms";
import { useNames } from "../../services/suggest";
import { Field, Select, TextInput } from "../../ui/field";
import { FormDialog } from "../../ui/form-dialog";
import { SpanInput } from "../../ui/more-fields";
import {
  type ConditionField,
  type ConditionForm,
  conditionOf,
  conditionsOf,
  faultsOf,
  type Subject,
  type SubjectKind,
  subjectOf,
  type Values,
} from "./conditions";
import { ChannelsDocument } from "./document";

const MOST_CHANNELS = 200;
const NOTHING: Span = { count: "", unit: "m" };
const KINDS: readonly (readonly [SubjectKind, string])[] = [
  ["TASK", "a task"],
  ["JOB", "a job"],
  ["GROUP", "a group"],
  ["FLOW", "flows of a name"],
  ["NODE", "nodes"],
  ["WEBHOOK", "webhooks"],
  ["DATABASE", "the database"],
];
const SUGGESTED = {
  TASK: "task",
  JOB: "job",
  GROUP: "group",
  FLOW: null,
  NODE: "node",
  WEBHOOK: null,
  DATABASE: null,
} as const;
/** Of these, no name is every one. */
const EVERY: readonly SubjectKind[] = ["NODE", "WEBHOOK"];
const UNITS = { count: "", times: "times", percent: "%", gigabytes: "GB", clock: "" } as const;
const SEVERITIES = [
  ["INFO", "info"],
  ["WARNING", "warning"],
  ["CRITICAL", "critical"],
] as const;
type Severity = (typeof SEVERITIES)[number][0];

interface NewAlarmProps {
  /** What it watches; unless given, the form asks for it. */
  subject?: Subject;
  onClose: () => void;
  onDone: () => void;
}

/** Asks what an alarm watches, when it fires and whom it notifies. */
export function NewAlarm({ subject: given, onClose, onDone }: NewAlarmProps) {
  const [subject, setSubject] = useState<Subject>(given ?? { kind: "TASK", name: "" });
  const conditions = conditionsOf(subject.kind);
  const [chosen, setChosen] = useState<string | null>(null);
  const condition = conditions.find(({ key }) => key === chosen) ?? conditions[0];
  const [values, setValues] = useState<Values>({});
  const [named, setNamed] = useState<string | null>(null);
  const [severity, setSeverity] = useState<Severity>("WARNING");
  const [channels, setChannels] = useState<ReadonlySet<string>>(new Set());
  const [tried, setTried] = useState(false);
  if (condition === undefined) return null;
  const faults = faultsOf(condition, values);
  const name = named ?? nameOf(subject, condition);
  const send = async () => {
    setTried(true);
    if (faults.size > 0) return { ok: false as const, errors: [] };
    return await createAlarm({
      name: name.trim(),
      subject: subjectOf({ ...subject, name: subject.name.trim() }),
      condition: conditionOf(condition, values),
      channels: [...channels],
      severity,
    });
  };
  return (
    <FormDialog
      title={given === undefined ? "New alarm" : `New alarm for ${given.kind.toLowerCase()} ${given.name}`}
      action="Create it"
      needs="OPERATOR"
      onClose={onClose}
      send={send}
      onDone={onDone}
    >
      {(fault) => (
        <>
          {given === undefined && (
            <SubjectFields
              subject={subject}
              onChange={(next) => {
                setSubject(next);
                if (next.kind !== subject.kind) setValues({});
              }}
              error={fault("subject")}
            />
          )}
          <Field label="It fires when" error={fault("condition")}>
            <Select
              value={condition.key}
              onChange={(key) => {
                setChosen(key);
                setValues({});
              }}
              invalid={fault("condition") !== undefined}
              options={conditions.map(({ key, word }) => [key, word] as const)}
            />
          </Field>
          {condition.fields.length > 0 && (
            <div class="form-grid">
              {condition.fields.map((field) => (
                <ConditionInput
                  key={field.name}
                  field={field}
                  value={values[field.name] ?? NOTHING}
                  onChange={(value) => setValues({ ...values, [field.name]: value })}
                  fault={tried ? faults.get(field.name) : undefined}
                />
              ))}
            </div>
          )}
          <div class="form-grid">
            <Field label="Name" error={fault("name")}>
              <TextInput value={name} onChange={setNamed} invalid={fault("name") !== undefined} />
            </Field>
            <Field label="Severity" error={fault("severity")}>
              <Select value={severity} onChange={(value) => setSeverity(value as Severity)} options={SEVERITIES} />
            </Field>
          </div>
          <ChannelChoice chosen={channels} onChange={setChannels} fault={fault("channels")} />
        </>
      )}
    </FormDialog>
  );
}

/** What an alarm is called unless one says otherwise. */
function nameOf({ kind, name }: Subject, { key }: ConditionForm): string {
  const thing = kind === "DATABASE" || (EVERY.includes(kind) && name === "") ? "" : `${name.trim()}-`;
  return `${thing}${key === "newError" ? "new-error" : key}`;
}

interface SubjectFieldsProps {
  subject: Subject;
  onChange: (subject: Subject) => void;
  error: string | undefined;
}

function SubjectFields({ subject: { kind, name }, onChange, error }: SubjectFieldsProps) {
  const names = useNames(SUGGESTED[kind], name, kind !== "DATABASE");
  return (
    <div class="form-grid">
      <Field label="It watches">
        <Select value={kind} onChange={(value) => onChange({ kind: value as SubjectKind, name: "" })} options={KINDS} />
      </Field>
      {kind !== "DATABASE" && (
        <Field label="Called" hint={EVERY.includes(kind) ? "Empty: every one" : undefined} error={error}>
          <TextInput
            value={name}
            onChange={(next) => onChange({ kind, name: next })}
            invalid={error !== undefined}
            list="alarm-subjects"
          />
        </Field>
      )}
      <datalist id="alarm-subjects">
        {names.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </div>
  );
}

interface ConditionInputProps {
  field: ConditionField;
  value: Span;
  onChange: (value: Span) => void;
  fault: string | undefined;
}

function ConditionInput({ field: { label, hint, kind }, value, onChange, fault }: ConditionInputProps) {
  const invalid = fault !== undefined;
  return (
    <Field label={label} hint={hint} error={fault}>
      {kind === "span" ? (
        <SpanInput value={value} onChange={onChange} invalid={invalid} />
      ) : (
        <span class="with-unit">
          <TextInput
            value={value.count}
            onChange={(count) => onChange({ ...value, count })}
            invalid={invalid}
            inputMode={kind === "clock" ? undefined : kind === "count" ? "numeric" : "decimal"}
          />
          {UNITS[kind]}
        </span>
      )}
    </Field>
  );
}

interface ChannelChoiceProps {
  chosen: ReadonlySet<string>;
  onChange: (chosen: ReadonlySet<string>) => void;
  fault: string | undefined;
}

/** The channels that there are, to be ticked. */
function ChannelChoice({ chosen, onChange, fault }: ChannelChoiceProps) {
  const [names, setNames] = useState<readonly string[] | null>(null);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    request(ChannelsDocument, { first: MOST_CHANNELS }, controller.signal).then(
      ({ channels }) => setNames(channels?.nodes.map(({ name }) => name) ?? []),
      (cause: unknown) => setError(cause instanceof Error ? cause.message : String(cause)),
    );
    return () => controller.abort();
  }, []);
  const tick = (name: string): void =>
    onChange(chosen.has(name) ? new Set([...chosen].filter((each) => each !== name)) : new Set([...chosen, name]));
  return (
    <fieldset class="field choices">
      <legend class="field-label">It notifies</legend>
      {names?.map((name) => (
        <label key={name} class="choice">
          <input type="checkbox" checked={chosen.has(name)} onChange={() => tick(name)} />
          {name}
        </label>
      ))}
      {error !== null && <span class="field-error">{error}</span>}
      {names?.length === 0 && (
        <span class="field-hint">No channel is set: it shows here alone. An administrator sets channels.</span>
      )}
      {fault !== undefined && (
        <span class="field-error" role="alert">
          {fault}
        </span>
      )}
    </fieldset>
  );
}
