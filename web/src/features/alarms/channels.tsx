import { useMemo, useState } from "preact/hooks";
import { plural, words } from "../../lib/format";
import { useLive } from "../../live/use-live";
import { testChannel } from "../../services/alarms";
import { Action } from "../../ui/action";
import { type Column, DataTable } from "../../ui/data-table";
import { Command, Empty } from "../../ui/feedback";
import { LivePart } from "../../ui/live-part";
import { Name } from "../../ui/name";
import { Section } from "../../ui/section";
import { Time } from "../../ui/time";
import { TestDialog } from "./dialogs";
import { type ChannelRow, ChannelsDocument } from "./document";

/** The most channels that there may be. */
const MOST = 200;

interface ChannelContext {
  test(name: string): void;
}

const COLUMNS: readonly Column<ChannelRow, ChannelContext>[] = [
  {
    key: "name",
    title: "Channel",
    width: 150,
    grow: 1,
    rank: 0,
    card: "title",
    name: ({ name }) => name,
    cell: ({ name }) => <Name text={name} />,
  },
  { key: "kind", title: "Kind", width: 120, rank: 1, card: "pair", cell: ({ kind }) => words(kind) },
  {
    key: "address",
    title: "Address",
    width: 200,
    grow: 2,
    rank: 2,
    card: "wide",
    cell: ({ address }) => <Name text={address} />,
  },
  { key: "updated", title: "Set", width: 120, rank: 3, card: "pair", cell: ({ updatedAt }) => <Time at={updatedAt} /> },
  { key: "by", title: "By", width: 130, rank: 4, card: "pair", cell: ({ updatedBy }) => <Name text={updatedBy} /> },
  {
    key: "actions",
    title: "Actions",
    untitled: true,
    width: 84,
    rank: 0,
    card: "actions",
    cell: ({ name }, { test }) => (
      <Action class="button small" aria-label={`Test channel ${name}`} onClick={() => test(name)}>
        Test
      </Action>
    ),
  },
];

/** The ways to notify people, each with a test. */
export function Channels() {
  const live = useLive("alarm-channels", {
    document: ChannelsDocument,
    variables: () => ({ first: MOST }),
    init: ({ channels }) => channels?.nodes ?? [],
  });
  const [tested, setTested] = useState<{ readonly channel: string; readonly delivery: string } | null>(null);
  const context = useMemo(
    (): ChannelContext => ({
      test: async (channel) => {
        const delivery = await testChannel(channel);
        if (delivery !== null) setTested({ channel, delivery });
      },
    }),
    [],
  );
  return (
    <Section title="Channels" aside={live.state !== null && plural(live.state.length, "channel")}>
      <LivePart live={live} rows={2}>
        {(channels) =>
          channels.length === 0 ? (
            <Empty title="No channel is set">
              <p class="dim">Alarms are sent to chats, mailboxes, webhooks and Alertmanager.</p>
              <Command text="cronograph channels set ops kind=webhook url=https://example.com/hook secrets=hook-key" />
            </Empty>
          ) : (
            <DataTable
              id="channels"
              columns={COLUMNS}
              context={context}
              rows={channels}
              rowId={({ name }) => `channel ${name}`}
              tall
            />
          )
        }
      </LivePart>
      {tested !== null && <TestDialog {...tested} onClose={() => setTested(null)} />}
    </Section>
  );
}
