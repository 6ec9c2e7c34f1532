import { useMemo, useState } from "preact/hooks";
import { plural, words } from "../../lib/format";
import { useLive } from "../../live/use-live";
import { testChannel } from "../../services/alarms";
import { channelDefinition } from "../../services/channels";
import { notify } from "../../state/announce";
import { styled } from "../../styles/later";
import { Action } from "../../ui/action";
import { type Column, DataTable } from "../../ui/data-table";
import { Command, Empty } from "../../ui/feedback";
import { Icon } from "../../ui/icon";
import { lazy } from "../../ui/lazy";
import { LivePart } from "../../ui/live-part";
import { Name } from "../../ui/name";
import { Section } from "../../ui/section";
import { Time } from "../../ui/time";
import type { KnownChannel } from "./channel-dialog";
import { TestDialog } from "./dialogs";
import { type ChannelRow, ChannelsDocument } from "./document";

/** The most channels that there may be. */
const MOST = 200;

const load = () => styled(import("./channel-dialog"));
const ChannelDialog = lazy(() => load().then((module) => module.ChannelDialog), "overlay");
const DeleteChannelDialog = lazy(() => load().then((module) => module.DeleteChannelDialog), "overlay");

type Opened =
  | { readonly kind: "new" }
  | { readonly kind: "change"; readonly channel: KnownChannel }
  | { readonly kind: "delete"; readonly name: string }
  | { readonly kind: "tested"; readonly channel: string; readonly delivery: string };

interface ChannelContext {
  test(name: string): void;
  change(channel: ChannelRow): void;
  remove(name: string): void;
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
    width: 190,
    rank: 0,
    card: "actions",
    cell: (channel, { test, change, remove }) => (
      <span class="row-actions spaced">
        <Action class="button small" aria-label={`Test channel ${channel.name}`} onClick={() => test(channel.name)}>
          Test
        </Action>
        <Action
          needs="ADMIN"
          class="button small"
          aria-label={`Change channel ${channel.name}`}
          onClick={() => change(channel)}
        >
          Change
        </Action>
        <Action
          needs="ADMIN"
          class="icon-button"
          title="Delete"
          aria-label={`Delete channel ${channel.name}`}
          onClick={() => remove(channel.name)}
        >
          <Icon name="trash" />
        </Action>
      </span>
    ),
  },
];

/** The ways to notify people: made, tested, changed and deleted. */
export function Channels() {
  const live = useLive("alarm-channels", {
    document: ChannelsDocument,
    variables: () => ({ first: MOST }),
    init: ({ channels }) => channels?.nodes ?? [],
    outdates: ({ kind }) => kind === "CHANNEL_UPDATED",
  });
  const [opened, setOpened] = useState<Opened | null>(null);
  const context = useMemo(
    (): ChannelContext => ({
      test: async (channel) => {
        const delivery = await testChannel(channel);
        if (delivery !== null) setOpened({ kind: "tested", channel, delivery });
      },
      change: async (row) => {
        try {
          const stored = await channelDefinition(row.name);
          if (stored === null) notify(`Channel ${row.name} is no longer there`, { tone: "bad" });
          else setOpened({ kind: "change", channel: { row, ...stored } });
        } catch (error) {
          notify(error instanceof Error ? error.message : String(error), { tone: "bad" });
        }
      },
      remove: (name) => setOpened({ kind: "delete", name }),
    }),
    [],
  );
  return (
    <Section
      title="Channels"
      aside={
        <>
          {live.state !== null && plural(live.state.length, "channel")}{" "}
          <Action needs="ADMIN" class="button small" onClick={() => setOpened({ kind: "new" })}>
            <Icon name="plus" /> New channel
          </Action>
        </>
      }
    >
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
      <OpenedDialog
        opened={opened}
        names={live.state?.map(({ name }) => name) ?? []}
        reload={live.reload}
        close={() => setOpened(null)}
      />
    </Section>
  );
}

interface OpenedProps {
  opened: Opened | null;
  names: readonly string[];
  reload: () => void;
  close: () => void;
}

function OpenedDialog({ opened, names, reload, close }: OpenedProps) {
  switch (opened?.kind) {
    case undefined:
      return null;
    case "new":
      return <ChannelDialog names={names} onClose={close} onSet={reload} />;
    case "change":
      return <ChannelDialog channel={opened.channel} names={names} onClose={close} onSet={reload} />;
    case "delete":
      return (
        <DeleteChannelDialog
          name={opened.name}
          onClose={close}
          onDone={() => {
            reload();
            close();
          }}
        />
      );
    case "tested":
      return <TestDialog channel={opened.channel} delivery={opened.delivery} onClose={close} />;
  }
}
