import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type ArgField, argFields, canShow, secretOf, secretText } from "../lib/args-schema";
import { argRefusals, type ArgTexts, argTexts, readArgTexts } from "../model/args-form";
import { readArgs } from "../model/task-form";
import type { UserError } from "../services/mutate";
import { useSecretNames } from "../services/secrets";
import { zone, zoneWord } from "../state/prefs";
import { Field, FieldButton, Select, TextInput } from "./field";

interface ArgsEditorProps {
  /** JSON text: the one truth, whichever way it is edited. */
  value: string;
  onChange: (value: string) => void;
  /** Tells whether a field holds what cannot be sent: the form must not be sent then. */
  onFaults: (faults: number) => void;
  /** The JSON Schema of the job's arguments, if known. */
  schema: unknown;
  /** What they are called, if not arguments. */
  title?: string;
  error?: string | undefined;
  /** What the server said of them: it stands at the field that it names. */
  refused?: readonly UserError[];
}

const NOTHING: readonly UserError[] = [];

/** The arguments of a job: a form made from their schema, or the JSON itself. */
export function ArgsEditor({ value, onChange, onFaults, schema, title = "Arguments", error, refused = NOTHING }: ArgsEditorProps) {
  const fields = argFields(schema);
  const [raw, setRaw] = useState(false);
  const args = readArgs(value);
  const shown = fields.length > 0 && typeof args !== "string" && canShow(fields, args);
  const asForm = !raw && shown;
  const [tried, setTried] = useState(false);
  useEffect(() => setTried((before) => before || error !== undefined), [error]);
  // What stands at its field need not be said once more below.
  const atFields = asForm && refused.length > 0 && refused.every((each) => Object.keys(argRefusals(fields, [each])).length > 0);
  if (takesNone(schema) && value.trim() === "{}") return <p class="dim">This job takes no arguments.</p>;
  return (
    <fieldset class="args">
      <legend class="field-label">
        {title}
        {shown && (
          <button type="button" class="link-button" onClick={() => setRaw(asForm)}>
            {asForm ? "as JSON" : "as a form"}
          </button>
        )}
      </legend>
      {asForm && typeof args !== "string" ? (
        <ArgFields fields={fields} args={args} onChange={onChange} onFaults={onFaults} tried={tried || error !== undefined} refused={refused} />
      ) : (
        <textarea class="textarea" rows={5} aria-label={`${title} as JSON`} aria-invalid={error !== undefined} value={value} spellcheck={false} onInput={(event) => onChange(event.currentTarget.value)} />
      )}
      {error !== undefined && !atFields && (
        <span class="field-error" role="alert">
          {error}
        </span>
      )}
    </fieldset>
  );
}

/** Whether a schema says that there is nothing to give; an unknown one says nothing. */
function takesNone(schema: unknown): boolean {
  return typeof schema === "object" && schema !== null && argFields(schema).length === 0;
}

interface ArgFieldsProps {
  fields: readonly ArgField[];
  args: Readonly<Record<string, unknown>>;
  onChange: (value: string) => void;
  onFaults: (faults: number) => void;
  /** Sending was tried: what is missing is said everywhere. */
  tried: boolean;
  refused: readonly UserError[];
}

function ArgFields({ fields, args, onChange, onFaults, tried, refused }: ArgFieldsProps) {
  const [texts, setTexts] = useState<ArgTexts>(() => argTexts(fields, args, zone.value));
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const { faults } = readArgTexts(fields, texts, args, zone.value);
  const refusals = argRefusals(fields, refused);
  const count = Object.keys(faults).length;
  useEffect(() => {
    onFaults(count);
    return () => onFaults(0);
  }, [count]);
  const change = (name: string, text: string): void => {
    const next = { ...texts, [name]: text };
    setTexts(next);
    setTouched(new Set([...touched, name]));
    onChange(JSON.stringify(readArgTexts(fields, next, args, zone.value).args, null, 2));
  };
  const inputs = (object: string): ComponentChildren => (
    <div class="form-grid">
      {fields
        .filter((field) => objectOf(field) === object)
        .map((field) => (
          // What is missing is said once one has been there, or has tried to send the form.
          <ArgInput key={field.name} field={field} text={texts[field.name] ?? ""} fault={tried || touched.has(field.name) ? (faults[field.name] ?? refusals[field.name]) : undefined} onChange={(text) => change(field.name, text)} />
        ))}
    </div>
  );
  return (
    <>
      {[...new Set(fields.map(objectOf))].map((object) =>
        object === "" ? (
          inputs(object)
        ) : (
          <fieldset key={object} class="args-object">
            <legend class="field-label">{object}</legend>
            {inputs(object)}
          </fieldset>
        ),
      )}
    </>
  );
}

/** The object that a field is a member of, such as `customer`; "" for the arguments themselves. */
function objectOf(field: ArgField): string {
  return field.path.slice(0, -1).join(".");
}

interface ArgInputProps {
  field: ArgField;
  text: string;
  fault: string | undefined;
  onChange: (text: string) => void;
}

const TYPES = { date: "date", datetime: "datetime-local" } as const;

function ArgInput({ field, text, fault, onChange }: ArgInputProps) {
  const unset: readonly [string, string] = ["", field.required ? "choose…" : "default"];
  const zoned = field.kind === "datetime" ? ` (${zoneWord()})` : "";
  const label = `${field.label}${zoned}${field.required ? " *" : ""}`;
  const invalid = fault !== undefined;
  const secret = secretOf(text);
  const hint = field.hint === "" ? undefined : field.hint;
  if (secret !== null) return <SecretInput label={label} secret={secret} fault={fault} onChange={onChange} />;
  return (
    <Field label={label} hint={hint} error={fault} aside={field.kind === "text" && <FieldButton onClick={() => onChange(secretText(""))}>use a secret</FieldButton>}>
      {field.kind === "boolean" && <Select value={text} onChange={onChange} invalid={invalid} options={[unset, ["true", "yes"], ["false", "no"]]} />}
      {field.kind === "choice" && <Select value={text} onChange={onChange} invalid={invalid} options={[unset, ...field.options.map((option) => [String(option), String(option)] as const)]} />}
      {field.kind !== "boolean" && field.kind !== "choice" && (
        <TextInput value={text} onChange={onChange} invalid={invalid} mono={field.kind === "json"} placeholder={field.kind === "json" ? "JSON" : ""} type={field.kind === "date" || field.kind === "datetime" ? TYPES[field.kind] : "text"} />
      )}
    </Field>
  );
}

/** Chooses one of the stored secrets: the job gets its value, and nobody sees it here. */
function SecretInput({ label, secret, fault, onChange }: { label: string; secret: string; fault: string | undefined; onChange: (text: string) => void }) {
  const names = useSecretNames();
  const known = names === null || secret === "" || names.includes(secret) ? (names ?? []) : [secret, ...names];
  const options = [["", names === null ? "reading…" : "choose a secret…"] as const, ...(names === null && secret !== "" ? [[secret, secret] as const] : []), ...known.map((name) => [name, name] as const)];
  return (
    <Field label={label} hint="The job gets the value of this secret" error={fault} aside={<FieldButton onClick={() => onChange("")}>type a value</FieldButton>}>
      <Select value={secret} onChange={(name) => onChange(secretText(name))} invalid={fault !== undefined} options={options} />
    </Field>
  );
}
