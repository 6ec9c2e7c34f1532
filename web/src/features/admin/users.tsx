import { useEffect, useMemo, useState } from "preact/hooks";
import { graphql, type ResultOf } from "../../api/tada";
import { words } from "../../lib/format";
import { setTitle } from "../../live/title";
import { unannounced } from "../../live/unannounced";
import { useLive } from "../../live/use-live";
import { ROLES, type Role } from "../../live/viewer";
import { searchParams } from "../../state/route";
import { Action } from "../../ui/action";
import { Confirm } from "../../ui/confirm";
import { type Column, DataTable } from "../../ui/data-table";
import { Command, Empty, ErrorBox, Skeleton } from "../../ui/feedback";
import { Field, Select, TextInput } from "../../ui/field";
import { FormDialog } from "../../ui/form-dialog";
import { Name } from "../../ui/name";
import { Pager } from "../../ui/pager";
import { PageHead } from "../../ui/section";
import { ShownOnce } from "../../ui/shown-once";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";
import { Permitted } from "./permitted";
import { addUser, recoveryLink, setDisabled, setRole } from "./users-service";

const PAGE = 50;

const UsersDocument = graphql(`
  query UsersPage($first: Int!, $after: String) {
    asOf
    serverTime
    accounts(first: $first, after: $after) {
      nodes { name role hasPassword disabledAt createdAt }
      pageInfo { hasNextPage endCursor }
    }
  }
`);

type User = ResultOf<typeof UsersDocument>["accounts"]["nodes"][number];
type Asking = { readonly kind: "role" | "disable" | "link"; readonly user: User };

interface UserContext {
  ask(kind: Asking["kind"], user: User): void;
  enable(user: User): void;
}

const ROLE_OPTIONS = ROLES.map((role): [string, string] => [role, words(role)]);
const ROLE_HINT = "Viewers look, operators also change tasks, runs and groups, administrators everything";

const COLUMNS: readonly Column<User, UserContext>[] = [
  {
    key: "name",
    title: "Name",
    width: 180,
    grow: 2,
    rank: 0,
    card: "title",
    name: ({ name }) => name,
    cell: (user) => <Name text={user.name} />,
  },
  { key: "role", title: "Role", width: 110, rank: 0, card: "pair", cell: (user) => words(user.role) },
  {
    key: "state",
    title: "State",
    width: 120,
    rank: 1,
    card: "pair",
    bare: true,
    cell: (user) => <Status name={user.disabledAt === null ? "ENABLED" : "DISABLED"} />,
  },
  {
    key: "password",
    title: "Password",
    width: 100,
    rank: 3,
    card: "pair",
    cell: (user) => <span class="dim">{user.hasPassword ? "set" : "none"}</span>,
  },
  { key: "created", title: "Made", width: 120, rank: 2, card: "pair", cell: (user) => <Time at={user.createdAt} /> },
  {
    key: "actions",
    title: "Actions",
    untitled: true,
    width: 270,
    rank: 0,
    card: "wide",
    cell: (user, { ask, enable }) => (
      <span class="row-actions spaced">
        <Action
          needs="ADMIN"
          class="button small"
          aria-label={`Change the role of ${user.name}`}
          onClick={() => ask("role", user)}
        >
          Role
        </Action>
        <Action
          needs="ADMIN"
          class="button small"
          aria-label={`Make a link for ${user.name}`}
          reason={user.disabledAt === null ? null : "This user is disabled; enable them first"}
          onClick={() => ask("link", user)}
        >
          Link
        </Action>
        {user.disabledAt === null ? (
          <Action
            needs="ADMIN"
            class="button small danger"
            aria-label={`Disable ${user.name}`}
            onClick={() => ask("disable", user)}
          >
            Disable
          </Action>
        ) : (
          <Action needs="ADMIN" class="button small" aria-label={`Enable ${user.name}`} onClick={() => enable(user)}>
            Enable
          </Action>
        )}
      </span>
    ),
  },
];

function AddUser({ onClose, onDone }: { onClose: () => void; onDone: (name: string, link: string) => void }) {
  const [name, setName] = useState("");
  const [role, setChosen] = useState<Role>("VIEWER");
  return (
    <FormDialog
      title="Add a user"
      action="Add"
      needs="ADMIN"
      onClose={onClose}
      send={() => addUser(name.trim(), role)}
      onDone={(link) => onDone(name.trim(), link)}
    >
      {(fault) => (
        <>
          <Field label="Name" error={fault("name")}>
            <TextInput value={name} onChange={setName} invalid={fault("name") !== undefined} />
          </Field>
          <Field label="Role" hint={ROLE_HINT} error={fault("role")}>
            <Select value={role} onChange={(value) => setChosen(value as Role)} options={ROLE_OPTIONS} />
          </Field>
        </>
      )}
    </FormDialog>
  );
}

function ChangeRole({ user, onClose, onDone }: { user: User; onClose: () => void; onDone: () => void }) {
  const [role, setChosen] = useState<Role>(user.role);
  return (
    <FormDialog
      title={`Role of ${user.name}`}
      action="Change"
      needs="ADMIN"
      onClose={onClose}
      send={() => setRole(user.name, role)}
      onDone={onDone}
    >
      {(fault) => (
        <Field
          label="Role"
          hint={`${ROLE_HINT}. All sign-ins of this account end`}
          error={fault("role") ?? fault("name")}
        >
          <Select
            value={role}
            onChange={(value) => setChosen(value as Role)}
            options={ROLE_OPTIONS}
            invalid={fault("name") !== undefined}
          />
        </Field>
      )}
    </FormDialog>
  );
}

function Users() {
  const after = searchParams.value.get("after");
  const { state, error, reload } = useLive(`users?${after ?? ""}`, {
    document: UsersDocument,
    variables: () => ({ first: PAGE, after }),
    init: (data) => data.accounts,
    expires: unannounced,
  });
  const [asking, setAsking] = useState<Asking | "add" | null>(null);
  const [once, setOnce] = useState<{ readonly name: string; readonly link: string } | null>(null);
  const context = useMemo(
    (): UserContext => ({
      ask: (kind, user) => setAsking({ kind, user }),
      enable: (user) => void setDisabled(user.name, false).then(reload),
    }),
    [reload],
  );
  const close = (): void => setAsking(null);
  const done = (): void => {
    close();
    reload();
  };
  return (
    <>
      <PageHead title="Users">
        <Action needs="ADMIN" class="button primary" onClick={() => setAsking("add")}>
          Add a user
        </Action>
      </PageHead>
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {state === null ? (
        <Skeleton rows={6} />
      ) : (
        <section class="panel" aria-label="Users">
          {state.nodes.length === 0 ? (
            <Empty title="No account yet">
              <Command text="cronograph user add NAME --role admin --password-stdin" />
            </Empty>
          ) : (
            <DataTable
              id="users"
              columns={COLUMNS}
              context={context}
              rows={state.nodes}
              rowId={(user) => user.name}
              tall
              rowClass={(user) => (user.disabledAt === null ? "" : "gone")}
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
      {asking === "add" && (
        <AddUser
          onClose={close}
          onDone={(name, link) => {
            done();
            setOnce({ name, link });
          }}
        />
      )}
      {asking !== null && asking !== "add" && asking.kind === "role" && (
        <ChangeRole user={asking.user} onClose={close} onDone={done} />
      )}
      {asking !== null && asking !== "add" && asking.kind === "disable" && (
        <Confirm
          title={`Disable ${asking.user.name}?`}
          action="Disable"
          danger
          needs="ADMIN"
          onClose={close}
          onConfirm={() => setDisabled(asking.user.name, true).then(done)}
        >
          <p>
            All sign-ins of this account end. Its tokens are refused and runs in its name fail until it is enabled
            again.
          </p>
        </Confirm>
      )}
      {asking !== null && asking !== "add" && asking.kind === "link" && (
        <Confirm
          title={`Make a link for ${asking.user.name}?`}
          action="Make the link"
          needs="ADMIN"
          onClose={close}
          onConfirm={async () => {
            const link = await recoveryLink(asking.user.name);
            close();
            if (link !== null) setOnce({ name: asking.user.name, link });
          }}
        >
          <p>
            The person who opens it sets a new password for this account, once and within 24 hours. Older links stop
            working.
          </p>
        </Confirm>
      )}
      {once !== null && (
        <ShownOnce
          title={`A link for ${once.name}`}
          about={`Give this to ${once.name}: it sets a password, once and within 24 hours. It is shown this once.`}
          secret={once.link}
          onClose={() => setOnce(null)}
        />
      )}
    </>
  );
}

/** Who may sign in, for administrators. */
export function UsersPage() {
  useEffect(() => setTitle("Users"), []);
  return (
    <Permitted needs="ADMIN" title="Users">
      <Users />
    </Permitted>
  );
}
