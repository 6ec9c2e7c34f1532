import { useState } from "preact/hooks";
import type { Outcome } from "../../api/mutate";
import { testChannel } from "../../services/alarms";
import { deleteChannel, setChannel } from "../../services/channels";
import { useSecretNames } from "../../services/secrets";
import { Field, Select, TextInput } from "../../ui/field";
import { FormDialog } from "../../ui/form-dialog";
import { SecretsChoice } from "../hooks/dialogs";
import { atFields, type ChannelForm, channelOf, formOf, KINDS, kindOf, NEW, shownOf } from "./channel-form";
import { TestedBy } from "./deliveries";
import type { ChannelRow } from "./document";

const KIND_OPTIONS = KINDS.map(({ key, word }) => [key, word] as const);
const ROUTES = [
  ["named", "the alarms that name it"],
  ["routed", "those, and others by severity, group or label"],
] as const;
const SEVERITIES = ["INFO", "WARNING", "CRITICAL"];
const WITHOUT = (
  <>
    add one on the page of <a href="/secrets">secrets</a>.
  </>
);

export interface KnownChannel {
  readonly row: ChannelRow;
  /** As a task file has it. */
  readonly definition: unknown;
  /** That of the definition. */
  readonly version: number;
}

interface ChannelDialogProps {
  /** The channel to change; unless given, one is made. */
  channel?: KnownChannel;
  /** The names that are taken. */
  names: readonly string[];
  onClose: () => void;
  /** Called as soon as it is set, also before a test. */
  onSet: () => void;
}

/** Asks where a channel sends to and what; on demand it is set and tested at once, and may be changed then. */
export function ChannelDialog({ channel, names, onClose, onSet }: ChannelDialogProps) {
  const [form, setForm] = useState(() => (channel === undefined ? NEW : formOf(channel.row.name, channel.definition)));
  const [made, setMade] = useState<string | null>(null);
  const [version, setVersion] = useState(channel?.version ?? 0);
  const [delivery, setDelivery] = useState<string | null>(null);
  const change = (changes: Partial<ChannelForm>): void => setForm({ ...form, ...changes });
  const fixed = channel?.row.name ?? made;
  const send = async (): Promise<Outcome<unknown>> => {
    const name = fixed ?? form.name.trim();
    if (fixed === null && names.includes(name))
      return refused("name", `There is a channel '${name}'; choose another name, or change that one`);
    const input = channelOf({ ...form, name }, channel?.definition);
    if (!("name" in input)) return { ok: false, errors: input };
    // What somebody else has set meanwhile is not overwritten.
    const outcome = await setChannel({ ...input, expectedVersion: version });
    if (!outcome.ok) return { ok: false, errors: atFields(outcome.errors, form.kind) };
    setMade(name);
    setVersion(outcome.value);
    onSet();
    return outcome;
  };
  const test = async (): Promise<Outcome<unknown>> => {
    setDelivery(null);
    const outcome = await send();
    if (outcome.ok) setDelivery(await testChannel(fixed ?? form.name.trim()));
    return outcome;
  };
  return (
    <FormDialog
      title={fixed === null ? "New channel" : `Channel ${fixed}`}
      action={fixed === null ? "Create it" : "Save"}
      needs="ADMIN"
      onClose={onClose}
      send={send}
      onDone={onClose}
      trial={{ action: fixed === null ? "Create and test it" : "Save and test", send: test }}
    >
      {(fault) => {
        const faults = faultsOf(form, fault);
        return (
          <>
            {channel?.row.setName != null && (
              <p>Its file, of set {channel.row.setName}, has it as it was: applied again, it undoes what you change.</p>
            )}
            {fixed === null && (
              <Field label="Name" error={fault("name")}>
                <TextInput
                  value={form.name}
                  onChange={(name) => change({ name })}
                  invalid={fault("name") !== undefined}
                />
              </Field>
            )}
            <Field label="It sends to" error={fault("kind")}>
              <Select value={form.kind} onChange={(kind) => change({ kind, values: {} })} options={KIND_OPTIONS} />
            </Field>
            <Settings form={form} change={change} faults={faults} address={channel?.row} />
            <Route form={form} change={change} faults={faults} />
            {delivery !== null && (
              <section aria-label="Test" role="status">
                <TestedBy delivery={delivery} />
              </section>
            )}
          </>
        );
      }}
    </FormDialog>
  );
}

type Faults = Readonly<Record<string, string | undefined>>;

/** What is said of the settings and of the route; first what no field asks for, which stands above them all. */
function faultsOf({ kind, isRouted }: ChannelForm, fault: (field: string) => string | undefined): Faults {
  const routed = isRouted ? ["groups", "labels"] : [];
  const names = ["route", ...routed, ...kindOf(kind).fields.map(({ name }) => name)];
  return Object.fromEntries(names.map((name) => [name, fault(name)]));
}

function refused(field: string, message: string): Outcome<never> {
  return { ok: false, errors: [{ code: "INVALID_INPUT", message, path: [field] }] };
}

interface PartProps {
  form: ChannelForm;
  change: (changes: Partial<ChannelForm>) => void;
  faults: Faults;
}

/** The settings of the chosen kind. A URL that is stored is not shown: its end may be secret. */
function Settings({ form, change, faults, address }: PartProps & { address: ChannelRow | undefined }) {
  const secrets = useSecretNames() ?? [];
  const isStored = address?.kind.toLowerCase() === form.kind;
  return (
    <>
      {kindOf(form.kind).fields.map((field) => {
        const { name, label, as, hint, otherwise = "choose one" } = field;
        const value = form.values[name];
        const set = (next: string | readonly string[]): void => change({ values: { ...form.values, [name]: next } });
        const error = faults[name];
        if (as === "secrets")
          return (
            <SecretsChoice
              key={name}
              label={label}
              hint="Each signs, so that a receiver can be moved from one to the next."
              without={WITHOUT}
              chosen={Array.isArray(value) ? value : []}
              onChange={set}
              fault={error}
            />
          );
        const text = shownOf(field, form);
        const options =
          as === "secret" ? [["", otherwise] as const, ...secrets.map((each) => [each, each] as const)] : as;
        return (
          <Field
            key={name}
            label={label}
            hint={
              as === "url" && isStored
                ? "Empty: as it is"
                : as === "secret" && secrets.length === 0
                  ? WITHOUT_ANY
                  : hint
            }
            error={error}
          >
            {typeof options === "string" ? (
              <TextInput
                value={text}
                onChange={set}
                invalid={error !== undefined}
                inputMode={as === "number" ? "numeric" : undefined}
                {...(as === "url" && { placeholder: isStored ? address.address : "https://example.com/hook" })}
              />
            ) : (
              <Select value={text} onChange={set} options={options} invalid={error !== undefined} />
            )}
          </Field>
        );
      })}
    </>
  );
}

const WITHOUT_ANY = <>There is none yet: {WITHOUT}</>;

/** Which alarms it gets besides those that name it. */
function Route({ form, change, faults }: PartProps) {
  const { isRouted, severities, groups, labels } = form;
  const tick = (severity: string): void =>
    change({
      severities: severities.includes(severity)
        ? severities.filter((each) => each !== severity)
        : [...severities, severity],
    });
  return (
    <>
      <Field label="It gets" error={faults["route"]}>
        <Select
          value={isRouted ? "routed" : "named"}
          onChange={(next) => change({ isRouted: next === "routed" })}
          options={ROUTES}
          invalid={faults["route"] !== undefined}
        />
      </Field>
      {isRouted && (
        <>
          <fieldset class="field choices">
            <legend class="field-label">Severities</legend>
            {SEVERITIES.map((each) => (
              <label key={each} class="choice">
                <input type="checkbox" checked={severities.includes(each)} onChange={() => tick(each)} />
                {each.toLowerCase()}
              </label>
            ))}
            <span class="field-hint">None: any</span>
          </fieldset>
          <Field label="Groups" hint="With commas between; empty: any" error={faults["groups"]}>
            <TextInput
              value={groups}
              onChange={(next) => change({ groups: next })}
              invalid={faults["groups"] !== undefined}
            />
          </Field>
          <Field label="Labels" hint="All of them, such as team=data, tier=1; empty: any" error={faults["labels"]}>
            <TextInput
              value={labels}
              onChange={(next) => change({ labels: next })}
              invalid={faults["labels"] !== undefined}
            />
          </Field>
        </>
      )}
    </>
  );
}

interface DeleteProps {
  name: string;
  onClose: () => void;
  onDone: () => void;
}

/** Asks before a channel is deleted; one that alarms notify only on demand. */
export function DeleteChannelDialog({ name, onClose, onDone }: DeleteProps) {
  const [force, setForce] = useState(false);
  return (
    <FormDialog
      title={`Delete channel ${name}?`}
      action="Delete"
      needs="ADMIN"
      onClose={onClose}
      send={() => deleteChannel(name, force)}
      onDone={onDone}
    >
      {() => (
        <>
          <p>Messages that wait for it are given up.</p>
          <label class="choice">
            <input type="checkbox" checked={force} onChange={() => setForce(!force)} />
            Also if alarms notify it
          </label>
        </>
      )}
    </FormDialog>
  );
}
