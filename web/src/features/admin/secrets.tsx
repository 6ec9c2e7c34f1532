import { useEffect, useMemo, useState } from "preact/hooks";
import { graphql, type ResultOf } from "../../api/tada";
import { paths } from "../../lib/paths";
import { setTitle } from "../../live/title";
import { unannounced } from "../../live/unannounced";
import { useLive } from "../../live/use-live";
import { deleteSecret, setSecret } from "../../services/secrets";
import { searchParams } from "../../state/route";
import { Action } from "../../ui/action";
import { Confirm } from "../../ui/confirm";
import { type Column, DataTable } from "../../ui/data-table";
import { Empty, ErrorBox, Skeleton } from "../../ui/feedback";
import { Field, HiddenInput, TextInput } from "../../ui/field";
import { FormDialog } from "../../ui/form-dialog";
import { Name } from "../../ui/name";
import { Pager } from "../../ui/pager";
import { PageHead } from "../../ui/section";
import { Time } from "../../ui/time";
import { Permitted } from "./permitted";

const PAGE = 50;

const SecretsDocument = graphql(`
  query SecretsPage($first: Int!, $after: String) {
    asOf
    serverTime
    secrets(first: $first, after: $after) {
      nodes { name updatedAt updatedBy usedBy }
      pageInfo { hasNextPage endCursor }
    }
  }
`);

type Secret = ResultOf<typeof SecretsDocument>["secrets"]["nodes"][number];

interface Context {
  set(secret: Secret): void;
  remove(secret: Secret): void;
}

const COLUMNS: readonly Column<Secret, Context>[] = [
  {
    key: "name",
    title: "Name",
    width: 180,
    grow: 2,
    rank: 0,
    card: "title",
    name: ({ name }) => name,
    cell: (secret) => <Name text={secret.name} />,
  },
  { key: "updated", title: "Set", width: 120, rank: 0, card: "pair", cell: (secret) => <Time at={secret.updatedAt} /> },
  { key: "by", title: "By", width: 130, rank: 2, card: "pair", cell: (secret) => <Name text={secret.updatedBy} /> },
  {
    key: "used",
    title: "Used by",
    width: 160,
    grow: 2,
    rank: 1,
    card: "wide",
    cell: (secret) =>
      secret.usedBy.length === 0 ? (
        <span class="dim">no task</span>
      ) : (
        secret.usedBy.map((task) => (
          <a key={task} href={paths.task(task)}>
            {task}{" "}
          </a>
        ))
      ),
  },
  {
    key: "actions",
    title: "Actions",
    untitled: true,
    width: 150,
    rank: 0,
    card: "wide",
    cell: (secret, { set, remove }) => (
      <span class="row-actions spaced">
        <Action
          needs="ADMIN"
          class="button small"
          aria-label={`Set secret ${secret.name} again`}
          onClick={() => set(secret)}
        >
          Set
        </Action>
        <Action
          needs="ADMIN"
          class="button small danger"
          aria-label={`Delete secret ${secret.name}`}
          onClick={() => remove(secret)}
        >
          Delete
        </Action>
      </span>
    ),
  },
];

function SetDialog({ secret, onClose, onDone }: { secret: Secret | null; onClose: () => void; onDone: () => void }) {
  const [name, setName] = useState(secret?.name ?? "");
  const [value, setValue] = useState("");
  return (
    <FormDialog
      title={secret === null ? "Add a secret" : `Set ${secret.name} again`}
      action="Set it"
      needs="ADMIN"
      onClose={onClose}
      send={() => setSecret(name.trim(), value)}
      onDone={onDone}
    >
      {(fault) => (
        <>
          {secret === null && (
            <Field
              label="Name"
              hint='Arguments say {"$secret": "this name"} in the place of the value'
              error={fault("name")}
            >
              <TextInput value={name} onChange={setName} invalid={fault("name") !== undefined} />
            </Field>
          )}
          <Field
            label="Value"
            hint="Encrypted, and never shown again; what starts from now on gets it"
            error={fault("value")}
          >
            <HiddenInput value={value} onChange={setValue} invalid={fault("value") !== undefined} />
          </Field>
        </>
      )}
    </FormDialog>
  );
}

function Secrets() {
  const after = searchParams.value.get("after");
  const { state, error, reload } = useLive(`secrets?${after ?? ""}`, {
    document: SecretsDocument,
    variables: () => ({ first: PAGE, after }),
    init: (data) => data.secrets,
    expires: unannounced,
  });
  const [setting, setSetting] = useState<Secret | "new" | null>(null);
  const [removing, setRemoving] = useState<Secret | null>(null);
  const context = useMemo((): Context => ({ set: setSetting, remove: setRemoving }), []);
  return (
    <>
      <PageHead title="Secrets">
        <Action needs="ADMIN" class="button primary" onClick={() => setSetting("new")}>
          Add a secret
        </Action>
      </PageHead>
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {state === null ? (
        error === null && <Skeleton rows={6} />
      ) : (
        <section class="panel" aria-label="Secrets">
          {state.nodes.length === 0 ? (
            <Empty title="No secret yet">
              <p class="dim">
                Arguments name a secret by <code>{'{"$secret": "name"}'}</code>; its value is never shown.
              </p>
              <Action needs="ADMIN" class="button" onClick={() => setSetting("new")}>
                Add the first secret
              </Action>
            </Empty>
          ) : (
            <DataTable
              id="secrets"
              columns={COLUMNS}
              context={context}
              rows={state.nodes}
              rowId={(secret) => secret.name}
            />
          )}
          <Pager
            after={after ?? ""}
            end={state.pageInfo.endCursor}
            more={state.pageInfo.hasNextPage}
            shown={state.nodes.length}
          />
        </section>
      )}
      {setting !== null && (
        <SetDialog
          secret={setting === "new" ? null : setting}
          onClose={() => setSetting(null)}
          onDone={() => {
            setSetting(null);
            reload();
          }}
        />
      )}
      {removing !== null && (
        <Confirm
          title={`Delete secret ${removing.name}?`}
          action="Delete"
          danger
          needs="ADMIN"
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            await deleteSecret(removing.name);
            setRemoving(null);
            reload();
          }}
        >
          <p>Its value cannot be restored. Runs that refer to it will fail.</p>
        </Confirm>
      )}
    </>
  );
}

/** What stands for values that nobody reads, for those who put it into arguments. */
export function SecretsPage() {
  useEffect(() => setTitle("Secrets"), []);
  return (
    <Permitted needs="OPERATOR" title="Secrets">
      <Secrets />
    </Permitted>
  );
}
