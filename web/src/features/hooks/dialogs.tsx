import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Outcome } from "../../api/mutate";
import { useSecretNames } from "../../services/secrets";
import { type NameKind, useNames } from "../../services/suggest";
import { Field, Select, TextInput } from "../../ui/field";
import { FormDialog } from "../../ui/form-dialog";
import type { HookRow } from "./document";
import { createAddress, createHook, type NewAddress, type NewHook, updateHook } from "./service";

type HookKind = NewHook["kind"];
export type AddressKind = NewAddress["kind"];

export const HOOK_KINDS: readonly (readonly [HookKind, string])[] = [
  ["GITHUB", "GitHub"],
  ["STRIPE", "Stripe"],
  ["STANDARD", "Standard Webhooks"],
  ["BEARER", "the secret itself, as a bearer token"],
];
export const ADDRESS_KINDS: readonly (readonly [AddressKind, string])[] = [
  ["PING", "pings"],
  ["BADGE", "badge"],
  ["CALENDAR", "calendar"],
];

interface NameInputProps {
  kind: NameKind;
  value: string;
  onChange: (value: string) => void;
  invalid: boolean;
}

/** A name that the server can suggest. */
function NameInput({ kind, value, onChange, invalid }: NameInputProps) {
  const names = useNames(kind, value, true);
  const list = `names-of-${kind}`;
  return (
    <>
      <TextInput value={value} onChange={onChange} invalid={invalid} list={list} />
      <datalist id={list}>
        {names.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </>
  );
}

interface HookDialogProps {
  /** The hook to change; unless given, one is made. */
  hook?: HookRow;
  onClose: () => void;
  onDone: () => void;
}

/** Asks which job a hook starts, and how its senders prove that they know a secret. */
export function HookDialog({ hook, onClose, onDone }: HookDialogProps) {
  const [name, setName] = useState(hook?.name ?? "");
  const [jobName, setJobName] = useState(hook?.jobName ?? "");
  const [kind, setKind] = useState<HookKind>(hook?.kind ?? "GITHUB");
  const [secrets, setSecrets] = useState<readonly string[]>(hook?.secrets ?? []);
  const [argument, setArgument] = useState(hook?.argument ?? "");
  const send = (): Promise<Outcome<null>> => {
    const said = { jobName: jobName.trim(), kind, secrets: [...secrets] };
    const whole = argument.trim();
    return hook === undefined
      ? createHook({ name: name.trim(), ...said, ...(whole !== "" && { argument: whole }) })
      : updateHook({ name: hook.name, expectedVersion: hook.version, ...said, argument: whole === "" ? null : whole });
  };
  return (
    <FormDialog
      title={hook === undefined ? "New hook" : `Hook ${hook.name}`}
      action={hook === undefined ? "Create it" : "Save"}
      needs="ADMIN"
      onClose={onClose}
      send={send}
      onDone={onDone}
    >
      {(fault) => (
        <>
          {hook === undefined && (
            <Field label="Name" hint="Its address ends with it: /hooks/NAME" error={fault("name")}>
              <TextInput value={name} onChange={setName} invalid={fault("name") !== undefined} />
            </Field>
          )}
          <Field label="Job that it starts" error={fault("jobName")}>
            <NameInput kind="job" value={jobName} onChange={setJobName} invalid={fault("jobName") !== undefined} />
          </Field>
          <Field label="Senders prove themselves as" error={fault("kind")}>
            <Select value={kind} onChange={(value) => setKind(value as HookKind)} options={HOOK_KINDS} />
          </Field>
          <SecretsChoice
            label="Secrets, 1 to 3"
            hint="Any of them is taken, so that a sender can be moved from one to the next."
            without={
              <>
                add one on the page of <a href="/secrets">secrets</a>, of 16 characters at least.
              </>
            }
            chosen={secrets}
            onChange={setSecrets}
            fault={fault("secrets")}
          />
          <Field
            label="Argument that gets the whole payload"
            hint="Empty: the members of the payload are the arguments"
            error={fault("argument")}
          >
            <TextInput value={argument} onChange={setArgument} invalid={fault("argument") !== undefined} />
          </Field>
        </>
      )}
    </FormDialog>
  );
}

interface SecretsChoiceProps {
  label: string;
  hint: string;
  /** What to do where no secret is stored. */
  without: ComponentChildren;
  chosen: readonly string[];
  onChange: (chosen: readonly string[]) => void;
  fault: string | undefined;
}

/** The secrets that there are, to be ticked. */
export function SecretsChoice({ label, hint, without, chosen, onChange, fault }: SecretsChoiceProps) {
  const names = useSecretNames();
  return (
    <fieldset class="field choices">
      <legend class="field-label">{label}</legend>
      {names?.map((name, place) => (
        <label key={name} class="choice">
          <input
            type="checkbox"
            checked={chosen.includes(name)}
            data-invalid={place === 0 && fault !== undefined}
            onChange={() =>
              onChange(chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name])
            }
          />
          {name}
        </label>
      ))}
      {names?.length === 0 && <span class="field-hint">There is none yet: {without}</span>}
      {fault === undefined ? (
        <span class="field-hint">{hint}</span>
      ) : (
        <span class="field-error" role="alert">
          {fault}
        </span>
      )}
    </fieldset>
  );
}

interface AddressDialogProps {
  onClose: () => void;
  onDone: (url: string) => void;
}

/** Asks what an address is for. */
export function AddressDialog({ onClose, onDone }: AddressDialogProps) {
  const [kind, setKind] = useState<AddressKind>("PING");
  const [taskName, setTaskName] = useState("");
  const task = taskName.trim();
  return (
    <FormDialog
      title="New address"
      action="Create it"
      needs="OPERATOR"
      onClose={onClose}
      send={() => createAddress({ kind, ...(task !== "" && { taskName: task }) })}
      onDone={onDone}
    >
      {(fault) => (
        <>
          <Field label="What it is for" error={fault("kind")}>
            <Select value={kind} onChange={(value) => setKind(value as AddressKind)} options={ADDRESS_KINDS} />
          </Field>
          <Field
            label="Task"
            hint={kind === "BADGE" ? "The badge shows its state" : "Empty: every task"}
            error={fault("taskName")}
          >
            <NameInput kind="task" value={taskName} onChange={setTaskName} invalid={fault("taskName") !== undefined} />
          </Field>
        </>
      )}
    </FormDialog>
  );
}
