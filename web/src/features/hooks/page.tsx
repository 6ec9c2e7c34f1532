import { useEffect, useMemo, useState } from "preact/hooks";
import { plural } from "../../lib/format";
import { paths } from "../../lib/paths";
import { setTitle } from "../../live/title";
import { unannounced } from "../../live/unannounced";
import { useLive } from "../../live/use-live";
import { copyText } from "../../state/copy";
import { Action } from "../../ui/action";
import { Confirm } from "../../ui/confirm";
import { type Column, DataTable } from "../../ui/data-table";
import { Empty } from "../../ui/feedback";
import { Icon } from "../../ui/icon";
import { LivePart } from "../../ui/live-part";
import { Name } from "../../ui/name";
import { PageHead, Section } from "../../ui/section";
import { ShownOnce } from "../../ui/shown-once";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";
import { Permitted } from "../admin/permitted";
import { ADDRESS_KINDS, AddressDialog, HOOK_KINDS, HookDialog } from "./dialogs";
import { type AddressRow, type HookRow, HooksDocument } from "./document";
import { deleteAddress, deleteHook, rotateAddress, updateHook, urlOf } from "./service";

const SHOWN = 200;

interface Context {
  open(opened: Opened): void;
  toggle(hook: HookRow): void;
}

type Opened =
  | { readonly kind: "new hook" | "new address" }
  | { readonly kind: "hook" | "delete hook"; readonly hook: HookRow }
  | { readonly kind: "delete address" | "rotate"; readonly address: AddressRow }
  | { readonly kind: "made"; readonly url: string };

function wordOf<Kind extends string>(kinds: readonly (readonly [Kind, string])[], kind: Kind): string {
  return kinds.find(([each]) => each === kind)?.[1] ?? kind;
}

function Buttons({ hook, context }: { hook: HookRow; context: Context }) {
  return (
    <span class="row-actions spaced">
      <button
        type="button"
        class="button small"
        aria-label={`Copy the address of hook ${hook.name}`}
        onClick={() => void copyText(urlOf(hook.path), "Address copied")}
      >
        Copy
      </button>
      <Action
        needs="ADMIN"
        class="button small"
        aria-label={`Change hook ${hook.name}`}
        onClick={() => context.open({ kind: "hook", hook })}
      >
        Change
      </Action>
      <Action
        needs="ADMIN"
        class="button small"
        aria-label={`${hook.isEnabled ? "Disable" : "Enable"} hook ${hook.name}`}
        onClick={() => context.toggle(hook)}
      >
        {hook.isEnabled ? "Disable" : "Enable"}
      </Action>
      <Action
        needs="ADMIN"
        class="icon-button"
        title="Delete"
        aria-label={`Delete hook ${hook.name}`}
        onClick={() => context.open({ kind: "delete hook", hook })}
      >
        <Icon name="trash" />
      </Action>
    </span>
  );
}

const HOOK_COLUMNS: readonly Column<HookRow, Context>[] = [
  {
    key: "name",
    title: "Hook",
    width: 160,
    grow: 2,
    rank: 0,
    card: "title",
    name: ({ name }) => name,
    cell: ({ name, path }) => (
      <>
        <Name text={name} /> <span class="cell-sub dim">{path}</span>
      </>
    ),
  },
  {
    key: "state",
    title: "State",
    width: 104,
    rank: 1,
    card: "pair",
    bare: true,
    cell: ({ isEnabled }) => <Status name={isEnabled ? "ENABLED" : "DISABLED"} />,
  },
  {
    key: "job",
    title: "Starts",
    width: 140,
    grow: 1,
    rank: 0,
    card: "pair",
    cell: ({ jobName }) => (
      <a href={paths.job(jobName)}>
        <Name text={jobName} />
      </a>
    ),
  },
  {
    key: "kind",
    title: "Proof",
    width: 190,
    grow: 1,
    rank: 2,
    card: "wide",
    cell: ({ kind }) => wordOf(HOOK_KINDS, kind),
  },
  {
    key: "secrets",
    title: "Secrets",
    width: 120,
    grow: 1,
    rank: 3,
    card: "pair",
    cell: ({ secrets }) => secrets.join(", "),
  },
  { key: "updated", title: "Set", width: 110, rank: 4, card: "pair", cell: ({ updatedAt }) => <Time at={updatedAt} /> },
  {
    key: "actions",
    title: "Actions",
    untitled: true,
    width: 268,
    rank: 0,
    card: "wide",
    cell: (hook, context) => <Buttons hook={hook} context={context} />,
  },
];

const ADDRESS_COLUMNS: readonly Column<AddressRow, Context>[] = [
  {
    key: "kind",
    title: "For",
    width: 110,
    rank: 0,
    card: "title",
    name: ({ kind, id }) => `${wordOf(ADDRESS_KINDS, kind)} ${id}`,
    cell: ({ kind }) => wordOf(ADDRESS_KINDS, kind),
  },
  {
    key: "task",
    title: "Task",
    width: 180,
    grow: 2,
    rank: 0,
    card: "pair",
    cell: ({ taskName }) =>
      taskName === null ? (
        <span class="dim">every task</span>
      ) : (
        <a href={paths.task(taskName)}>
          <Name text={taskName} />
        </a>
      ),
  },
  { key: "at", title: "Made", width: 120, rank: 1, card: "pair", cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    key: "by",
    title: "By",
    width: 140,
    grow: 1,
    rank: 2,
    card: "pair",
    cell: ({ createdBy }) => <Name text={createdBy} />,
  },
  {
    key: "actions",
    title: "Actions",
    untitled: true,
    width: 150,
    rank: 0,
    card: "wide",
    cell: (address, { open }) => (
      <span class="row-actions spaced">
        <Action
          class="button small"
          aria-label={`Rotate address ${address.id}`}
          onClick={() => open({ kind: "rotate", address })}
        >
          Rotate
        </Action>
        <Action
          class="icon-button"
          title="Delete"
          aria-label={`Delete address ${address.id}`}
          onClick={() => open({ kind: "delete address", address })}
        >
          <Icon name="trash" />
        </Action>
      </span>
    ),
  },
];

function Hooks() {
  const live = useLive("hooks", {
    document: HooksDocument,
    variables: () => ({ first: SHOWN }),
    init: ({ hooks, addresses }) => ({
      hooks: hooks?.nodes ?? [],
      hooksInAll: hooks?.totalCount ?? 0,
      addresses: addresses?.nodes ?? [],
      addressesInAll: addresses?.totalCount ?? 0,
    }),
    expires: unannounced,
  });
  const [opened, setOpened] = useState<Opened | null>(null);
  const { reload } = live;
  const context = useMemo(
    (): Context => ({
      open: setOpened,
      toggle: ({ name, version, isEnabled }) =>
        void updateHook({ name, expectedVersion: version, enabled: !isEnabled }).then(reload),
    }),
    [],
  );
  return (
    <>
      <PageHead title="Hooks and addresses">
        <Action needs="ADMIN" class="button primary" onClick={() => setOpened({ kind: "new hook" })}>
          <Icon name="plus" /> New hook
        </Action>
        <Action class="button" onClick={() => setOpened({ kind: "new address" })}>
          <Icon name="plus" /> New address
        </Action>
      </PageHead>
      <LivePart live={live} rows={6}>
        {({ hooks, hooksInAll, addresses, addressesInAll }) => (
          <div class="inbox">
            <Section title="Hooks" aside={plural(hooksInAll, "hook")}>
              {hooks.length === 0 ? (
                <Empty title="No hook yet">
                  <p class="dim">A request to a hook that is proven by a secret starts a run of its job.</p>
                  <Action needs="ADMIN" class="button" onClick={() => setOpened({ kind: "new hook" })}>
                    Make the first hook
                  </Action>
                </Empty>
              ) : (
                <DataTable
                  id="hooks"
                  columns={HOOK_COLUMNS}
                  context={context}
                  rows={hooks}
                  rowId={({ name }) => `hook ${name}`}
                  tall
                />
              )}
            </Section>
            <Section title="Addresses" aside={plural(addressesInAll, "address", "addresses")}>
              {addresses.length === 0 ? (
                <Empty title="No address yet">
                  <p class="dim">
                    A program without an account pings an address, shows a badge of a task, or reads a calendar of what
                    comes.
                  </p>
                  <Action class="button" onClick={() => setOpened({ kind: "new address" })}>
                    Make the first address
                  </Action>
                </Empty>
              ) : (
                <DataTable
                  id="addresses"
                  columns={ADDRESS_COLUMNS}
                  context={context}
                  rows={addresses}
                  rowId={({ id }) => `address ${id}`}
                />
              )}
            </Section>
          </div>
        )}
      </LivePart>
      <OpenedDialog opened={opened} open={setOpened} reload={reload} />
    </>
  );
}

interface OpenedProps {
  opened: Opened | null;
  open: (opened: Opened | null) => void;
  reload: () => void;
}

function OpenedDialog({ opened, open, reload }: OpenedProps) {
  const close = (): void => open(null);
  const done = (): void => {
    close();
    reload();
  };
  const show = (url: string): void => {
    open({ kind: "made", url });
    reload();
  };
  switch (opened?.kind) {
    case undefined:
      return null;
    case "new hook":
      return <HookDialog onClose={close} onDone={done} />;
    case "hook":
      return <HookDialog hook={opened.hook} onClose={close} onDone={done} />;
    case "new address":
      return <AddressDialog onClose={close} onDone={show} />;
    case "made":
      return (
        <ShownOnce
          title="The address"
          about="It is shown this once: who knows it can use it."
          secret={opened.url}
          onClose={close}
        />
      );
    case "delete hook":
      return (
        <Confirm
          title={`Delete hook ${opened.hook.name}?`}
          action="Delete"
          danger
          needs="ADMIN"
          onClose={close}
          onConfirm={() => deleteHook(opened.hook.name).then(done)}
        >
          <p>Requests to it are refused from then on. Runs that it started go on.</p>
        </Confirm>
      );
    case "delete address":
      return (
        <Confirm
          title="Delete the address?"
          action="Delete"
          danger
          onClose={close}
          onConfirm={() => deleteAddress(opened.address.id).then(done)}
        >
          <p>Requests to it are answered as to an unknown one from then on.</p>
        </Confirm>
      );
    case "rotate":
      return <Rotate address={opened.address} onClose={close} onDone={show} />;
  }
}

interface RotateProps {
  address: AddressRow;
  onClose: () => void;
  onDone: (url: string) => void;
}

function Rotate({ address: { id, kind, taskName }, onClose, onDone }: RotateProps) {
  return (
    <Confirm
      title="Put a new address in its place?"
      action="Rotate"
      onClose={onClose}
      onConfirm={async () => {
        const url = await rotateAddress(id, { kind, ...(taskName !== null && { taskName }) });
        if (url === null) onClose();
        else onDone(url);
      }}
    >
      <p>The new address is shown once. The old one is unknown from then on.</p>
    </Confirm>
  );
}

/** Where other programs reach this server without an account. */
export function HooksPage() {
  useEffect(() => setTitle("Hooks"), []);
  return (
    <Permitted needs="OPERATOR" title="Hooks and addresses">
      <Hooks />
    </Permitted>
  );
}
