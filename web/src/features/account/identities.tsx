import { useMemo, useState } from "preact/hooks";
import { Action } from "../../ui/action";
import { Confirm } from "../../ui/confirm";
import { type Column, DataTable } from "../../ui/data-table";
import { Empty } from "../../ui/feedback";
import { Name } from "../../ui/name";
import { Section } from "../../ui/section";
import { Time } from "../../ui/time";
import type { Provider, Viewer } from "./document";
import { disconnect } from "./service";

type Identity = Viewer["identities"][number];

interface Context {
  ask(identity: Identity): void;
}

const COLUMNS: readonly Column<Identity, Context>[] = [
  {
    key: "provider",
    title: "Provider",
    width: 130,
    rank: 0,
    card: "title",
    cell: (identity) => <Name text={identity.provider} />,
  },
  {
    key: "subject",
    title: "There you are",
    width: 180,
    grow: 2,
    rank: 1,
    card: "wide",
    cell: (identity) => <Name text={identity.subject} />,
  },
  {
    key: "used",
    title: "Last used",
    width: 120,
    rank: 2,
    card: "pair",
    cell: (identity) =>
      identity.lastUsedAt === null ? <span class="dim">never</span> : <Time at={identity.lastUsedAt} />,
  },
  {
    key: "actions",
    title: "Actions",
    untitled: true,
    width: 120,
    rank: 0,
    card: "actions",
    cell: (identity, { ask }) => (
      <Action
        needs="VIEWER"
        class="button small danger"
        aria-label={`Disconnect ${identity.provider}`}
        onClick={() => ask(identity)}
      >
        Disconnect
      </Action>
    ),
  },
];

/** Who one is at providers of identities, and how to connect more. */
export function Identities({
  rows,
  providers,
  reload,
}: {
  rows: readonly Identity[];
  providers: readonly Provider[];
  reload: () => void;
}) {
  const [asking, setAsking] = useState<Identity | null>(null);
  const context = useMemo((): Context => ({ ask: setAsking }), []);
  return (
    <Section
      title="Other ways to sign in"
      aside={providers.map((provider) => (
        <a
          key={provider.key}
          class="button small"
          href={`/auth/oidc/${provider.key}?connect=1&next=/account`}
          data-external
        >
          Connect {provider.name}
        </a>
      ))}
    >
      {rows.length === 0 ? (
        <Empty title="Nothing is connected" />
      ) : (
        <DataTable id="identities" columns={COLUMNS} context={context} rows={rows} rowId={(identity) => identity.id} />
      )}
      {asking !== null && (
        <Confirm
          title={`Disconnect ${asking.provider}?`}
          action="Disconnect"
          danger
          needs="VIEWER"
          onClose={() => setAsking(null)}
          onConfirm={async () => {
            await disconnect(asking.id, asking.provider);
            setAsking(null);
            reload();
          }}
        >
          <p>You cannot sign in with it until you connect it again.</p>
        </Confirm>
      )}
    </Section>
  );
}
