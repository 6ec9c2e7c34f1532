import { useMemo, useState } from "preact/hooks";
import { words } from "../../lib/format";
import { ROLES, type Role } from "../../live/viewer";
import { Action } from "../../ui/action";
import { Confirm } from "../../ui/confirm";
import { type Column, DataTable } from "../../ui/data-table";
import { Empty } from "../../ui/feedback";
import { Field, Select, TextInput } from "../../ui/field";
import { FormDialog } from "../../ui/form-dialog";
import { Name } from "../../ui/name";
import { Section } from "../../ui/section";
import { ShownOnce } from "../../ui/shown-once";
import { Time } from "../../ui/time";
import type { Viewer } from "./document";
import { createToken, revokeToken } from "./service";

type Token = Viewer["tokens"][number];

interface Context {
  ask(token: Token): void;
}

const COLUMNS: readonly Column<Token, Context>[] = [
  {
    key: "name",
    title: "Name",
    width: 160,
    grow: 2,
    rank: 0,
    card: "title",
    cell: (token) => <Name text={token.name} />,
  },
  {
    key: "shown",
    title: "Begins with",
    width: 120,
    rank: 2,
    card: "pair",
    cell: (token) => <code>{token.shown}…</code>,
  },
  { key: "role", title: "Role", width: 100, rank: 1, card: "pair", cell: (token) => words(token.role) },
  { key: "created", title: "Made", width: 120, rank: 4, card: "pair", cell: (token) => <Time at={token.createdAt} /> },
  {
    key: "used",
    title: "Last used",
    width: 120,
    rank: 1,
    card: "pair",
    cell: (token) => (token.lastUsedAt === null ? <span class="dim">never</span> : <Time at={token.lastUsedAt} />),
  },
  {
    key: "ends",
    title: "Ends",
    width: 120,
    rank: 3,
    card: "pair",
    cell: (token) => (token.expiresAt === null ? <span class="dim">never</span> : <Time at={token.expiresAt} />),
  },
  {
    key: "actions",
    title: "Actions",
    untitled: true,
    width: 96,
    rank: 0,
    card: "actions",
    cell: (token, { ask }) => (
      <Action
        needs="VIEWER"
        class="button small danger"
        aria-label={`Revoke token ${token.name}`}
        onClick={() => ask(token)}
      >
        Revoke
      </Action>
    ),
  },
];

const LASTS: readonly (readonly [string, string])[] = [
  ["30", "30 days"],
  ["90", "90 days"],
  ["365", "a year"],
  ["", "until it is revoked"],
];

function NewToken({
  role: own,
  onClose,
  onDone,
}: {
  role: Role;
  onClose: () => void;
  onDone: (secret: string) => void;
}) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("VIEWER");
  const [days, setDays] = useState("90");
  const options = ROLES.slice(0, ROLES.indexOf(own) + 1).map((each): [string, string] => [each, words(each)]);
  return (
    <FormDialog
      title="Make a token"
      action="Make it"
      needs="VIEWER"
      onClose={onClose}
      send={() => createToken(name.trim(), role, days === "" ? null : Number(days))}
      onDone={onDone}
    >
      {(fault) => (
        <>
          <Field label="Name" hint="What it is for" error={fault("name")}>
            <TextInput
              value={name}
              onChange={setName}
              invalid={fault("name") !== undefined}
              placeholder="nightly build"
            />
          </Field>
          <Field label="Role" hint="At most your own" error={fault("role")}>
            <Select value={role} onChange={(value) => setRole(value as Role)} options={options} />
          </Field>
          <Field label="Lasts" error={fault("expiresAt")}>
            <Select value={days} onChange={setDays} options={LASTS} />
          </Field>
        </>
      )}
    </FormDialog>
  );
}

/** The API tokens of one's own account. */
export function Tokens({ rows, role, reload }: { rows: readonly Token[]; role: Role; reload: () => void }) {
  const [asking, setAsking] = useState<Token | "new" | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const context = useMemo((): Context => ({ ask: setAsking }), []);
  const close = (): void => setAsking(null);
  return (
    <Section
      title="API tokens"
      aside={
        <Action needs="VIEWER" class="button small" onClick={() => setAsking("new")}>
          Make a token
        </Action>
      }
    >
      {rows.length === 0 ? (
        <Empty title="No token yet">
          <p>Programs use the API in your name by a token, with your role or a lower one.</p>
        </Empty>
      ) : (
        <DataTable id="tokens" columns={COLUMNS} context={context} rows={rows} rowId={(token) => token.id} />
      )}
      {asking === "new" && (
        <NewToken
          role={role}
          onClose={close}
          onDone={(made) => {
            close();
            reload();
            setSecret(made);
          }}
        />
      )}
      {asking !== null && asking !== "new" && (
        <Confirm
          title={`Revoke token ${asking.name}?`}
          action="Revoke"
          danger
          needs="VIEWER"
          onClose={close}
          onConfirm={async () => {
            await revokeToken(asking.id, asking.name);
            close();
            reload();
          }}
        >
          <p>Programs that use it are refused from now on.</p>
        </Confirm>
      )}
      {secret !== null && (
        <ShownOnce
          title="Your new token"
          about="Copy it now: it is shown this once. Programs send it as Authorization: Bearer …"
          secret={secret}
          onClose={() => setSecret(null)}
        />
      )}
    </Section>
  );
}
