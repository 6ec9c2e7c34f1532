import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { UserError } from "../api/mutate";
import {
  type ArgField,
  argFields,
  canShow,
  type ItemTexts,
  itemTexts,
  readItems,
  secretOf,
  secretText,
  titledFields,
  writeItems,
} from "../lib/args-schema";
import { type ArgTexts, argRefusals, argTexts, readArgTexts } from "../model/args-form";
import { readArgs } from "../model/task-form";
import { useSecretNames } from "../services/secrets";
import { zone, zoneWord } from "../state/prefs";
import { Button } from "../ui/action";
import { Field, FieldButton, Select, TextInput } from "../ui/field";
import { Icon } from "../ui/icon";
import { Choices, TextLines } from "../ui/more-fields";

interface ArgsEditorProps {
  /** JSON text: the one truth, whichever way it is edited. */
  value: string;
  onChange: (value: string) => void;
  /** Tells whether a field holds what cannot be sent: the form must not be sent then. */
  onFaults: (faults: number) => void;
  /** The JSON Schema of the job's arguments, if known. */
  schema: unknown;
  /** Of the answer to a question: its fields have titles, and no secrets. */
  answer?: boolean;
  error?: string | undefined;
  /** What the server said of them: it stands at the field that it names. */
  refused?: readonly UserError[];
}

const NOTHING: readonly UserError[] = [];

/** The arguments of a job: a form made from their schema, or the JSON itself. */
export function ArgsEditor({
  value,
  onChange,
  onFaults,
  schema,
  answer = false,
  error,
  refused = NOTHING,
}: ArgsEditorProps) {
  const fields = answer ? titledFields(schema) : argFields(schema);
  const title = answer ? "Answer" : "Arguments";
  const [raw, setRaw] = useState(false);
  const args = readArgs(value);
  const shown = fields.length > 0 && typeof args !== "string" && canShow(fields, args);
  const asForm = !raw && shown;
  const [tried, setTried] = useState(false);
  useEffect(() => setTried((before) => before || error !== undefined), [error]);
  // What stands at its field need not be said once more below.
  const atFields =
    asForm && refused.length > 0 && refused.every((each) => Object.keys(argRefusals(fields, [each])).length > 0);
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
        <ArgFields
          fields={fields}
          args={args}
          onChange={onChange}
          onFaults={onFaults}
          tried={tried || error !== undefined}
          refused={refused}
        />
      ) : (
        <textarea
          class="textarea"
          rows={5}
          aria-label={`${title} as JSON`}
          aria-invalid={error !== undefined}
          value={value}
          spellcheck={false}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
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
  const change = (name: string, text: string, at: string): void => {
    const next = { ...texts, [name]: text };
    setTexts(next);
    setTouched(new Set([...touched, at]));
    onChange(JSON.stringify(readArgTexts(fields, next, args, zone.value).args, null, 2));
  };
  // What is missing is said once one has been there, or has tried to send the form.
  const faultAt = (name: string): string | undefined =>
    tried || touched.has(name) ? (faults[name] ?? refusals[name]) : undefined;
  return <FieldGroups fields={fields} texts={texts} prefix="" faultAt={faultAt} onChange={change} />;
}

interface FieldGroupsProps {
  fields: readonly ArgField[];
  texts: ArgTexts;
  /** What stands before their names among the faults: `lines.0.` in an item of a list. */
  prefix: string;
  faultAt: (name: string) => string | undefined;
  /** `at` is the field that was changed, within an item of a list by its whole name. */
  onChange: (name: string, text: string, at: string) => void;
}

/** Fields one after the other; those of an object, and each list, in a frame of their own. */
function FieldGroups({ fields, texts, prefix, faultAt, onChange }: FieldGroupsProps) {
  const inputs = (object: string): ComponentChildren => (
    <div class="form-grid">
      {fields
        .filter((field) => objectOf(field) === object)
        .map((field) => {
          const at = prefix + field.name;
          const text = texts[field.name] ?? "";
          return field.kind === "list" ? (
            <ListInput
              key={field.name}
              field={field}
              text={text}
              at={at}
              faultAt={faultAt}
              onChange={(next, where) => onChange(field.name, next, where)}
            />
          ) : (
            <ArgInput
              key={field.name}
              field={field}
              text={text}
              fault={faultAt(at)}
              onChange={(next) => onChange(field.name, next, at)}
            />
          );
        })}
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

interface ListInputProps {
  field: ArgField;
  text: string;
  at: string;
  faultAt: (name: string) => string | undefined;
  onChange: (text: string, at: string) => void;
}

/** The items of a list: each can be changed, moved and removed, and there is room for one more. */
function ListInput({ field, text, at, faultAt, onChange }: ListInputProps) {
  const box = useRef<HTMLFieldSetElement>(null);
  const items = readItems(text);
  const fault = faultAt(at);
  const about = useId();
  const set = (next: readonly ItemTexts[], where = at): void => onChange(writeItems(next), where);
  /** The focus goes to the first field of an item, or else to the button that adds one. */
  const focusOn = (place: number): void =>
    void requestAnimationFrame(() =>
      (
        box.current?.querySelector<HTMLElement>(`[data-item="${place}"] :is(input, select)`) ??
        box.current?.querySelector<HTMLElement>("[data-add]")
      )?.focus(),
    );
  const add = (): void => {
    const before = text === "" ? itemTexts(field, field.default, zone.value) : items;
    set([...before, {}]);
    focusOn(before.length);
  };
  const move = (from: number, to: number): void => {
    set(items.map((each, place) => items[place === from ? to : place === to ? from : place] ?? each));
    focusOn(to);
  };
  const remove = (place: number): void => {
    set(items.filter((_, each) => each !== place));
    focusOn(Math.min(place, items.length - 2));
  };
  const single = field.items[0]?.name === "";
  return (
    <fieldset ref={box} class="args-object args-list" aria-describedby={about}>
      <legend class="field-label">{`${field.label}${field.required ? " *" : ""}`}</legend>
      {items.map((texts, place) => {
        const name = `${field.label} ${place + 1}`;
        const where = `${at}.${place}`;
        const changed = (inner: string, next: string, touched: string): void =>
          set(
            items.map((each, other) => (other === place ? { ...each, [inner]: next } : each)),
            touched,
          );
        return (
          <div key={place} class="args-item" data-item={place} role="group" aria-label={name}>
            <div class="args-item-fields">
              {single ? (
                field.items.map((inner) => (
                  <ArgInput
                    key=""
                    field={{ ...inner, label: `${place + 1}`, required: false }}
                    text={texts[""] ?? ""}
                    fault={faultAt(where)}
                    onChange={(next) => changed("", next, where)}
                  />
                ))
              ) : (
                <FieldGroups
                  fields={field.items}
                  texts={texts}
                  prefix={`${where}.`}
                  faultAt={faultAt}
                  onChange={changed}
                />
              )}
            </div>
            <span class="args-item-tools">
              <Button
                class="icon-button"
                aria-label={`Move ${name} up`}
                reason={place === 0 ? "It is the first" : null}
                onClick={() => move(place, place - 1)}
              >
                <Icon name="up" />
              </Button>
              <Button
                class="icon-button"
                aria-label={`Move ${name} down`}
                reason={place === items.length - 1 ? "It is the last" : null}
                onClick={() => move(place, place + 1)}
              >
                <Icon name="down" />
              </Button>
              <button type="button" class="icon-button" aria-label={`Remove ${name}`} onClick={() => remove(place)}>
                <Icon name="trash" />
              </button>
            </span>
          </div>
        );
      })}
      <span class="args-list-tools">
        <button
          type="button"
          class="button small"
          data-add=""
          data-invalid={fault !== undefined}
          aria-describedby={about}
          onClick={add}
        >
          <Icon name="plus" /> Add to {field.label}
        </button>
        {text === "" ? (
          <FieldButton onClick={() => set([])}>an empty list</FieldButton>
        ) : (
          !field.required && <FieldButton onClick={() => onChange("", at)}>the default</FieldButton>
        )}
        <span class="dim">
          {text === "" ? (field.required ? "" : "default") : items.length === 0 ? "empty list" : ""}
        </span>
      </span>
      <span id={about}>
        {fault !== undefined && (
          <span class="field-error" role="alert">
            {fault}
          </span>
        )}
        {fault === undefined && field.hint !== "" && <span class="field-hint">{field.hint}</span>}
      </span>
    </fieldset>
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
  const unset: readonly [string, string] = ["", field.required || field.name === "" ? "choose…" : "default"];
  const zoned = field.kind === "datetime" ? ` (${zoneWord()})` : "";
  const label = `${field.label}${zoned}${field.required ? " *" : ""}`;
  const invalid = fault !== undefined;
  const secret = secretOf(text);
  const hint = field.hint === "" ? undefined : field.hint;
  const choices = choicesOf(field);
  if (field.asked && choices.length > 0) {
    return (
      <Choices
        label={label}
        hint={hint}
        error={fault}
        value={text}
        onChange={onChange}
        options={field.required ? choices : [...choices, unset]}
      />
    );
  }
  if (secret !== null) return <SecretInput label={label} secret={secret} fault={fault} onChange={onChange} />;
  return (
    <Field
      label={label}
      hint={hint}
      error={fault}
      aside={
        field.kind === "text" &&
        !field.asked && <FieldButton onClick={() => onChange(secretText(""))}>use a secret</FieldButton>
      }
    >
      {choices.length > 0 ? (
        <Select value={text} onChange={onChange} invalid={invalid} options={[unset, ...choices]} />
      ) : field.long ? (
        <TextLines value={text} onChange={onChange} invalid={invalid} />
      ) : (
        <TextInput
          value={text}
          onChange={onChange}
          invalid={invalid}
          mono={field.kind === "json"}
          placeholder={field.kind === "json" ? "JSON" : ""}
          inputMode={field.kind === "integer" ? "numeric" : field.kind === "number" ? "decimal" : undefined}
          type={field.kind === "date" || field.kind === "datetime" ? TYPES[field.kind] : "text"}
        />
      )}
    </Field>
  );
}

/** The values to choose from, each with its word; none where something is typed. */
function choicesOf({ kind, options }: ArgField): readonly (readonly [string, string])[] {
  if (kind === "boolean") {
    return [
      ["true", "yes"],
      ["false", "no"],
    ];
  }
  return kind === "choice" ? options.map((option) => [String(option), String(option)] as const) : [];
}

/** Chooses one of the stored secrets: the job gets its value, and nobody sees it here. */
function SecretInput({
  label,
  secret,
  fault,
  onChange,
}: {
  label: string;
  secret: string;
  fault: string | undefined;
  onChange: (text: string) => void;
}) {
  const names = useSecretNames();
  const known = names === null || secret === "" || names.includes(secret) ? (names ?? []) : [secret, ...names];
  const options = [
    ["", names === null ? "reading…" : "choose a secret…"] as const,
    ...(names === null && secret !== "" ? [[secret, secret] as const] : []),
    ...known.map((name) => [name, name] as const),
  ];
  return (
    <Field
      label={label}
      hint="The job gets the value of this secret"
      error={fault}
      aside={<FieldButton onClick={() => onChange("")}>type a value</FieldButton>}
    >
      <Select
        value={secret}
        onChange={(name) => onChange(secretText(name))}
        invalid={fault !== undefined}
        options={options}
      />
    </Field>
  );
}
