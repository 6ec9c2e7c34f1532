import { useState } from "preact/hooks";
import { type ArgField, argFields, readArg, writeArg } from "../lib/args-schema";
import { readArgs } from "../model/task-form";
import { Field, Select, TextInput } from "./field";

interface ArgsEditorProps {
  /** JSON text: the one truth, whichever way it is edited. */
  value: string;
  onChange: (value: string) => void;
  /** The JSON Schema of the job's arguments, if known. */
  schema: unknown;
  error?: string | undefined;
}

/** The arguments of a job: a form made from their schema, or the JSON itself. */
export function ArgsEditor({ value, onChange, schema, error }: ArgsEditorProps) {
  const fields = argFields(schema);
  const [raw, setRaw] = useState(false);
  const args = readArgs(value);
  const asForm = !raw && fields.length > 0 && typeof args !== "string";
  return (
    <fieldset class="args">
      <legend class="field-label">
        Arguments
        {fields.length > 0 && (
          <button type="button" class="link-button" onClick={() => setRaw(asForm)}>
            {asForm ? "as JSON" : "as a form"}
          </button>
        )}
      </legend>
      {asForm ? (
        <div class="form-grid">
          {fields.map((field) => (
            <ArgInput key={field.name} field={field} value={args[field.name]} onChange={(next) => onChange(withArg(args, field.name, next))} />
          ))}
        </div>
      ) : (
        <textarea class="textarea" rows={5} aria-label="Arguments as JSON" aria-invalid={error !== undefined} value={value} spellcheck={false} onInput={(event) => onChange(event.currentTarget.value)} />
      )}
      {error !== undefined && (
        <span class="field-error" role="alert">
          {error}
        </span>
      )}
    </fieldset>
  );
}

function withArg(args: Record<string, unknown>, name: string, value: unknown): string {
  const { [name]: _, ...others } = args;
  return JSON.stringify(value === undefined ? others : { ...args, [name]: value }, null, 2);
}

function ArgInput({ field, value, onChange }: { field: ArgField; value: unknown; onChange: (value: unknown) => void }) {
  const [typed, setTyped] = useState(() => writeArg(field, value));
  const [error, setError] = useState<string | undefined>(undefined);
  const change = (text: string): void => {
    setTyped(text);
    const read = readArg(field, text);
    setError("error" in read ? read.error : undefined);
    if ("value" in read) onChange(read.value);
  };
  const unset: readonly [string, string] = ["", field.required ? "choose…" : "default"];
  const label = field.required ? `${field.label} *` : field.label;
  return (
    <Field label={label} hint={field.hint === "" ? undefined : field.hint} error={error}>
      {field.kind === "boolean" && <Select value={typed} onChange={change} options={[unset, ["true", "yes"], ["false", "no"]]} />}
      {field.kind === "choice" && <Select value={typed} onChange={change} options={[unset, ...field.options.map((option) => [String(option), String(option)] as const)]} />}
      {field.kind !== "boolean" && field.kind !== "choice" && (
        <TextInput value={typed} onChange={change} invalid={error !== undefined} mono={field.kind === "json"} placeholder={field.kind === "json" ? "JSON" : ""} />
      )}
    </Field>
  );
}
