import { useMemo, useState } from "preact/hooks";
import { inZone } from "../../lib/time";
import { now, serverNow } from "../../live/clock";
import { useLive } from "../../live/use-live";
import { isSilenced, silenceEnds } from "../../model/silences";
import { deleteAlarm, endSilence } from "../../services/alarms";
import { zone } from "../../state/prefs";
import { Action } from "../../ui/action";
import { Confirm } from "../../ui/confirm";
import { type Column, DataTable } from "../../ui/data-table";
import { Empty } from "../../ui/feedback";
import { Icon } from "../../ui/icon";
import { LivePart } from "../../ui/live-part";
import { Name } from "../../ui/name";
import { Section } from "../../ui/section";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";
import type { Subject as Watched } from "./conditions";
import { AcknowledgeDialog, FiringDialog, SilenceAlarm } from "./dialogs";
import { type AlarmRow, AlarmsOfDocument, type FiringRow } from "./document";
import { HISTORY_COLUMNS, Subject } from "./firing-columns";
import { aboutAny } from "./model";
import { NewAlarm } from "./new-alarm";

const SHOWN = 100;

interface Row {
  readonly alarm: AlarmRow;
  /** The newest of what it found and is not over. */
  readonly firing: FiringRow | null;
}

interface Context {
  show(firing: FiringRow): void;
  acknowledge(firing: FiringRow): void;
  silence(alarm: string): void;
  remove(alarm: AlarmRow): void;
}

function stateOf({ alarm, firing }: Row): string {
  if (!alarm.isEnabled) return "DISABLED";
  if (isSilenced(alarm, now.value)) return "SILENCED";
  if (firing === null) return "ENABLED";
  return firing.acknowledgedAt === null ? "FIRING" : "ACKNOWLEDGED";
}

const STATE: Column<Row, Context> = {
  key: "state",
  title: "State",
  width: 130,
  rank: 0,
  card: "pair",
  bare: true,
  cell: (row) => (
    <>
      <Status name={stateOf(row)} />{" "}
      {row.alarm.silenceEndsAt !== null && stateOf(row) === "SILENCED" && (
        <span class="cell-sub dim">
          until <Time at={row.alarm.silenceEndsAt} form="moment" />
        </span>
      )}
    </>
  ),
};
const ALARM: Column<Row, Context> = {
  key: "name",
  title: "Alarm",
  width: 150,
  grow: 1,
  rank: 0,
  card: "title",
  name: ({ alarm }) => alarm.name,
  cell: ({ alarm: { name, severity } }) => (
    <>
      <Name text={name} /> <span class="cell-sub dim">{severity.toLowerCase()}</span>
    </>
  ),
};
const WHAT: Column<Row, Context> = {
  key: "what",
  title: "What it found, or looks for",
  width: 220,
  grow: 3,
  rank: 0,
  card: "wide",
  bare: true,
  cell: ({ alarm, firing }) => (
    <>
      {firing !== null && (
        <span>
          {inZone(firing.sentence, zone.value)}, since <Time at={firing.firedAt} form="moment" />
        </span>
      )}
      <span class={firing === null ? "" : "cell-sub dim"}>{inZone(alarm.sentence, zone.value)}</span>
    </>
  ),
};
const WATCHES: Column<Row, Context> = {
  key: "watches",
  title: "Watches",
  width: 140,
  grow: 1,
  rank: 2,
  card: "pair",
  cell: ({ alarm: { subject } }) => <Subject subject={subject} />,
};
const NOTIFIES: Column<Row, Context> = {
  key: "notifies",
  title: "Notifies",
  width: 120,
  grow: 1,
  rank: 3,
  card: "pair",
  cell: ({ alarm: { channels } }) => (channels.length === 0 ? <span class="dim">nobody</span> : channels.join(", ")),
};
const BUTTONS: Column<Row, Context> = {
  key: "actions",
  title: "Actions",
  untitled: true,
  width: 316,
  rank: 0,
  card: "wide",
  cell: (row, context) => <Buttons row={row} context={context} />,
};
const COLUMNS = [STATE, ALARM, WHAT, WATCHES, NOTIFIES, BUTTONS];

function Buttons({ row: { alarm, firing }, context }: { row: Row; context: Context }) {
  const { name, source, owner } = alarm;
  return (
    <span class="row-actions spaced">
      {firing !== null && firing.acknowledgedAt === null && (
        <Action
          class="button small primary"
          aria-label={`Acknowledge firing ${firing.id}`}
          onClick={() => context.acknowledge(firing)}
        >
          Acknowledge
        </Action>
      )}
      {isSilenced(alarm, now.value) ? (
        <Action class="button small" aria-label={`End the silence of ${name}`} onClick={() => void endSilence(name)}>
          End the silence
        </Action>
      ) : (
        <Action class="button small" aria-label={`Silence alarm ${name}`} onClick={() => context.silence(name)}>
          Silence
        </Action>
      )}
      {firing !== null && (
        <button
          type="button"
          class="button small"
          data-key="Enter"
          aria-label={`Details of firing ${firing.id}`}
          onClick={() => context.show(firing)}
        >
          Details
        </button>
      )}
      <Action
        class="icon-button"
        reason={source === "API" ? null : `It is declared in ${source === "CODE" ? "the code" : `the file ${owner}`}`}
        title="Delete"
        aria-label={`Delete alarm ${name}`}
        onClick={() => context.remove(alarm)}
      >
        <Icon name="trash" />
      </Action>
    </span>
  );
}

interface AlarmsOfProps {
  /** What they watch: the thing of the page, and others that it belongs to. */
  watched: readonly [Watched, ...(readonly Watched[])];
}

type Opened =
  | { readonly kind: "details" | "acknowledge"; readonly firing: FiringRow }
  | { readonly kind: "remove"; readonly alarm: AlarmRow }
  | { readonly kind: "silence"; readonly alarm: string }
  | { readonly kind: "new" };

/** The alarms that watch a thing, and what of them fires; another one is made here. */
export function AlarmsOf({ watched }: AlarmsOfProps) {
  const key = JSON.stringify(watched);
  const live = useLive(`alarms-of/${key}`, {
    document: AlarmsOfDocument,
    variables: () => ({
      first: SHOWN,
      alarms: aboutAny(watched),
      open: { ...aboutAny(watched), isOpen: { eq: true } },
      past: { ...aboutAny(watched), isOpen: { eq: false } },
    }),
    init: ({ alarms, open, past }) => ({
      rows: (alarms?.nodes ?? []).map((alarm) => ({
        alarm,
        firing: open?.nodes.find(({ alarmName }) => alarmName === alarm.name) ?? null,
      })),
      alarms: alarms?.nodes ?? [],
      past: past?.nodes ?? [],
    }),
    outdates: ({ kind }) => kind.startsWith("ALARM_"),
    expires: ({ alarms }) => silenceEnds(alarms, serverNow()),
  });
  const [opened, setOpened] = useState<Opened | null>(null);
  const context = useMemo(
    (): Context => ({
      show: (firing) => setOpened({ kind: "details", firing }),
      acknowledge: (firing) => setOpened({ kind: "acknowledge", firing }),
      silence: (alarm) => setOpened({ kind: "silence", alarm }),
      remove: (alarm) => setOpened({ kind: "remove", alarm }),
    }),
    [],
  );
  const create = (
    <Action class="button small" onClick={() => setOpened({ kind: "new" })}>
      <Icon name="plus" /> New alarm
    </Action>
  );
  return (
    <Section title="Alarms" aside={create}>
      <LivePart live={live} rows={2}>
        {({ rows, past }) => (
          <>
            {rows.length === 0 ? (
              <Empty title="No alarm watches it">
                <p class="dim">An alarm notices that it is late, slow or fails, and notifies people and programs.</p>
              </Empty>
            ) : (
              <DataTable
                id="alarms-of"
                columns={COLUMNS}
                context={context}
                rows={rows}
                rowId={({ alarm }) => `alarm ${alarm.name}`}
                tall
              />
            )}
            {past.length > 0 && (
              <>
                <h3 class="panel-body">What fired before</h3>
                <DataTable
                  id="alarms-past"
                  columns={HISTORY_COLUMNS}
                  context={context}
                  rows={past}
                  rowId={({ id }) => id}
                  tall
                />
              </>
            )}
          </>
        )}
      </LivePart>
      <OpenedDialog opened={opened} subject={watched[0]} onClose={() => setOpened(null)} />
    </Section>
  );
}

interface OpenedProps {
  opened: Opened | null;
  subject: Watched;
  onClose: () => void;
}

function OpenedDialog({ opened, subject, onClose }: OpenedProps) {
  switch (opened?.kind) {
    case undefined:
      return null;
    case "new":
      return <NewAlarm subject={subject} onClose={onClose} onDone={onClose} />;
    case "silence":
      return <SilenceAlarm alarm={opened.alarm} onClose={onClose} />;
    case "acknowledge":
      return <AcknowledgeDialog which={opened.firing} onClose={onClose} />;
    case "details":
      return <FiringDialog firing={opened.firing} onClose={onClose} />;
    case "remove":
      return (
        <Confirm
          title={`Delete alarm ${opened.alarm.name}?`}
          action="Delete"
          danger
          onClose={onClose}
          onConfirm={async () => {
            await deleteAlarm(opened.alarm.name);
            onClose();
          }}
        >
          <p>What it found stays in the history. Nobody is notified any longer.</p>
        </Confirm>
      );
  }
}
