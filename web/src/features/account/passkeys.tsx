import { useMemo, useState } from "preact/hooks";
import { knowsPasskeys } from "../../api/passkeys";
import { Action } from "../../ui/action";
import { Confirm } from "../../ui/confirm";
import { type Column, DataTable } from "../../ui/data-table";
import { Empty } from "../../ui/feedback";
import { Field, TextInput } from "../../ui/field";
import { FormDialog } from "../../ui/form-dialog";
import { Name } from "../../ui/name";
import { Section } from "../../ui/section";
import { Time } from "../../ui/time";
import type { Viewer } from "./document";
import { createPasskey, deletePasskey, renamePasskey } from "./service";

type Passkey = Viewer["passkeys"][number];
type Asking = { readonly kind: "rename" | "delete"; readonly passkey: Passkey };

interface Context {
  ask(kind: Asking["kind"], passkey: Passkey): void;
}

const COLUMNS: readonly Column<Passkey, Context>[] = [
  {
    key: "name",
    title: "Name",
    width: 180,
    grow: 2,
    rank: 0,
    card: "title",
    cell: (passkey) => <Name text={passkey.name} />,
  },
  {
    key: "created",
    title: "Made",
    width: 120,
    rank: 1,
    card: "pair",
    cell: (passkey) => <Time at={passkey.createdAt} />,
  },
  {
    key: "used",
    title: "Last used",
    width: 120,
    rank: 1,
    card: "pair",
    cell: (passkey) =>
      passkey.lastUsedAt === null ? <span class="dim">never</span> : <Time at={passkey.lastUsedAt} />,
  },
  {
    key: "actions",
    title: "Actions",
    untitled: true,
    width: 176,
    rank: 0,
    card: "wide",
    cell: (passkey, { ask }) => (
      <span class="row-actions spaced">
        <Action
          needs="VIEWER"
          class="button small"
          aria-label={`Rename passkey ${passkey.name}`}
          onClick={() => ask("rename", passkey)}
        >
          Rename
        </Action>
        <Action
          needs="VIEWER"
          class="button small danger"
          aria-label={`Delete passkey ${passkey.name}`}
          onClick={() => ask("delete", passkey)}
        >
          Delete
        </Action>
      </span>
    ),
  },
];

interface NameDialogProps {
  title: string;
  action: string;
  hint: string;
  before: string;
  send: (name: string) => ReturnType<typeof renamePasskey>;
  onClose: () => void;
  onDone: () => void;
}

function NameDialog({ title, action, hint, before, send, onClose, onDone }: NameDialogProps) {
  const [name, setName] = useState(before);
  return (
    <FormDialog
      title={title}
      action={action}
      needs="VIEWER"
      onClose={onClose}
      send={() => send(name.trim())}
      onDone={onDone}
    >
      {(fault) => (
        <Field label="Name" hint={hint} error={fault("name")}>
          <TextInput value={name} onChange={setName} invalid={fault("name") !== undefined} placeholder="laptop" />
        </Field>
      )}
    </FormDialog>
  );
}

/** The passkeys of one's own account. */
export function Passkeys({ rows, reload }: { rows: readonly Passkey[]; reload: () => void }) {
  const [asking, setAsking] = useState<Asking | "add" | null>(null);
  const context = useMemo((): Context => ({ ask: (kind, passkey) => setAsking({ kind, passkey }) }), []);
  const close = (): void => setAsking(null);
  const done = (): void => {
    close();
    reload();
  };
  const obstacle = knowsPasskeys()
    ? null
    : "This browser knows passkeys only where the page comes by TLS or from localhost";
  return (
    <Section
      title="Passkeys"
      aside={
        <Action needs="VIEWER" class="button small" reason={obstacle} onClick={() => setAsking("add")}>
          Add a passkey
        </Action>
      }
    >
      {rows.length === 0 ? (
        <Empty title="No passkey yet">
          <p>With a passkey you sign in by fingerprint, face or security key, without name and password.</p>
        </Empty>
      ) : (
        <DataTable id="passkeys" columns={COLUMNS} context={context} rows={rows} rowId={(passkey) => passkey.id} />
      )}
      {asking === "add" && (
        <NameDialog
          title="Add a passkey"
          action="Go on"
          hint="So that you know it among others; then your browser asks"
          before=""
          send={createPasskey}
          onClose={close}
          onDone={done}
        />
      )}
      {asking !== null && asking !== "add" && asking.kind === "rename" && (
        <NameDialog
          title={`Rename ${asking.passkey.name}`}
          action="Rename"
          hint="So that you know it among others"
          before={asking.passkey.name}
          send={(name) => renamePasskey(asking.passkey.id, name)}
          onClose={close}
          onDone={done}
        />
      )}
      {asking !== null && asking !== "add" && asking.kind === "delete" && (
        <Confirm
          title={`Delete passkey ${asking.passkey.name}?`}
          action="Delete"
          danger
          needs="VIEWER"
          onClose={close}
          onConfirm={() => deletePasskey(asking.passkey.id, asking.passkey.name).then(done)}
        >
          <p>Nobody can sign in with it any more. It stays on the device until it is deleted there, too.</p>
        </Confirm>
      )}
    </Section>
  );
}
