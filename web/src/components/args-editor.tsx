import { useEffect, useState } from "preact/hooks";
import { type ArgField, argFields } from "../lib/args-schema";
import { type ArgTexts, argTexts, readArgTexts } from "../model/args-form";
import { readArgs } from "../model/task-form";
import { Field, Select, TextInput } from "./field";

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
}

/** The arguments of a job: a form made from their schema, or the JSON itself. */
export function ArgsEditor({ value, onChange, onFaults, schema, title = "Arguments", error }: ArgsEditorProps) {
  const fields = argFields(schema);
  const [raw, setRaw] = useState(false);
  const args = readArgs(value);
  const asForm = !raw && fields.length > 0 && typeof args !== "string";
  if (takesNone(schema) && value.trim() === "{}") return <p class="dim">This job takes no arguments.</p>;
  return (
    <fieldset class="args">
      <legend class="field-label">
        {title}
        {fields.length > 0 && (
          <button type="button" class="link-button" onClick={() => setRaw(asForm)}>
            {asForm ? "as JSON" : "as a form"}
          </button>
        )}
      </legend>
      {asForm ? (
        <ArgFields fields={fields} args={args} onChange={onChange} onFaults={onFaults} />
      ) : (
        <textarea class="textarea" rows={5} aria-label={`${title} as JSON`} aria-invalid={error !== undefined} value={value} spellcheck={false} onInput={(event) => onChange(event.currentTarget.value)} />
      )}
      {error !== undefined && (
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
}

function ArgFields({ fields, args, onChange, onFaults }: ArgFieldsProps) {
  const [texts, setTexts] = useState<ArgTexts>(() => argTexts(fields, args));
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const { faults } = readArgTexts(fields, texts);
  const count = Object.keys(faults).length;
  useEffect(() => {
    onFaults(count);
    return () => onFaults(0);
  }, [count]);
  const change = (name: string, text: string): void => {
    const next = { ...texts, [name]: text };
    setTexts(next);
    setTouched(new Set([...touched, name]));
    onChange(JSON.stringify(readArgTexts(fields, next, args).args, null, 2));
  };
  return (
    <div class="form-grid">
      {fields.map((field) => (
        // What is missing is said once one has been there, or has tried to send the form.
        <ArgInput key={field.name} field={field} text={texts[field.name] ?? ""} fault={faults[field.name]} quiet={!touched.has(field.name)} onChange={(text) => change(field.name, text)} />
      ))}
    </div>
  );
}

interface ArgInputProps {
  field: ArgField;
  text: string;
  fault: string | undefined;
  quiet: boolean;
  onChange: (text: string) => void;
}

function ArgInput({ field, text, fault, quiet, onChange }: ArgInputProps) {
  const unset: readonly [string, string] = ["", field.required ? "choose…" : "default"];
  const label = field.required ? `${field.label} *` : field.label;
  const invalid = fault !== undefined;
  return (
    <Field label={label} hint={field.hint === "" ? undefined : field.hint} error={quiet ? undefined : fault}>
      {field.kind === "boolean" && <Select value={text} onChange={onChange} invalid={invalid} options={[unset, ["true", "yes"], ["false", "no"]]} />}
      {field.kind === "choice" && <Select value={text} onChange={onChange} invalid={invalid} options={[unset, ...field.options.map((option) => [String(option), String(option)] as const)]} />}
      {field.kind !== "boolean" && field.kind !== "choice" && (
        <TextInput value={text} onChange={onChange} invalid={invalid} mono={field.kind === "json"} placeholder={field.kind === "json" ? "JSON" : ""} />
      )}
    </Field>
  );
}
