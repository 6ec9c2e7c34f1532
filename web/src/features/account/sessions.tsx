import { useMemo } from "preact/hooks";
import { words } from "../../lib/format";
import { Action } from "../../ui/action";
import { type Column, DataTable } from "../../ui/data-table";
import { Name } from "../../ui/name";
import { Section } from "../../ui/section";
import { Time } from "../../ui/time";
import type { Viewer } from "./document";
import { endSessions } from "./service";

type Session = Viewer["sessions"][number];

interface Context {
  end(session: Session): void;
}

const COLUMNS: readonly Column<Session, Context>[] = [
  {
    key: "agent",
    title: "Where",
    width: 200,
    grow: 3,
    rank: 0,
    card: "title",
    cell: (session) => <Name text={session.isCurrent ? "this browser" : (session.agent ?? "unknown")} />,
  },
  { key: "kind", title: "Kind", width: 100, rank: 3, card: "pair", cell: (session) => words(session.kind) },
  { key: "address", title: "From", width: 130, rank: 2, card: "pair", cell: (session) => session.address ?? "–" },
  {
    key: "began",
    title: "Began",
    width: 120,
    rank: 1,
    card: "pair",
    cell: (session) => <Time at={session.createdAt} />,
  },
  {
    key: "seen",
    title: "Last used",
    width: 120,
    rank: 1,
    card: "pair",
    cell: (session) => <Time at={session.lastSeenAt} />,
  },
  {
    key: "ends",
    title: "Ends unless used",
    width: 140,
    rank: 4,
    card: "pair",
    cell: (session) => <Time at={session.expiresAt} />,
  },
  {
    key: "actions",
    title: "Actions",
    untitled: true,
    width: 80,
    rank: 0,
    card: "actions",
    cell: (session, { end }) =>
      !session.isCurrent && (
        <Action
          needs="VIEWER"
          class="button small"
          aria-label={`End the sign-in from ${session.address ?? "unknown"}, ${session.agent ?? "unknown"}`}
          onClick={() => end(session)}
        >
          End
        </Action>
      ),
  },
];

/** Where one is signed in. */
export function Sessions({ rows, reload }: { rows: readonly Session[]; reload: () => void }) {
  const context = useMemo((): Context => ({ end: (session) => void endSessions(session.id).then(reload) }), [reload]);
  return (
    <Section
      title="Sign-ins"
      aside={
        <>
          <a class="button small" href="/device" data-external>
            Let a terminal in
          </a>
          <Action
            needs="VIEWER"
            class="button small"
            reason={rows.length < 2 ? "There is none but this one" : null}
            onClick={() => void endSessions(null).then(reload)}
          >
            End all others
          </Action>
        </>
      }
    >
      <DataTable id="sessions" columns={COLUMNS} context={context} rows={rows} rowId={(session) => session.id} />
    </Section>
  );
}
