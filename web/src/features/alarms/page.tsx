import { useEffect, useMemo, useState } from "preact/hooks";
import type { ResultOf } from "../../api/tada";
import { integer, plural } from "../../lib/format";
import { inZone } from "../../lib/time";
import { now, serverNow } from "../../live/clock";
import { setTitle } from "../../live/title";
import { useLive } from "../../live/use-live";
import { useLiveList } from "../../live/use-live-list";
import { may } from "../../live/viewer";
import { byNumber } from "../../model/live-list";
import { isSilenced, silenceEnds } from "../../model/silences";
import { endSilence } from "../../services/alarms";
import { zone } from "../../state/prefs";
import { searchParams } from "../../state/route";
import { Action } from "../../ui/action";
import { type Column, DataTable } from "../../ui/data-table";
import { Command, Empty } from "../../ui/feedback";
import { Icon } from "../../ui/icon";
import { ListPanel } from "../../ui/list-panel";
import { LivePart } from "../../ui/live-part";
import { Name } from "../../ui/name";
import { PageHead, Section } from "../../ui/section";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";
import { Channels } from "./channels";
import { AcknowledgeDialog, FiringDialog, SilenceAlarm } from "./dialogs";
import { type AlarmRow, AlarmsDocument, type FiringRow, HistoryDocument } from "./document";
import { type AlarmContext, HISTORY_COLUMNS, OPEN_COLUMNS, Subject } from "./firing-columns";
import { NewAlarm } from "./new-alarm";

/** So many that fire and so many alarms are shown; the command line lists all. */
const SHOWN = 200;
const PAGE = 50;

const NAME: Column<AlarmRow, AlarmContext> = {
  key: "name",
  title: "Alarm",
  width: 150,
  grow: 1,
  rank: 0,
  card: "title",
  name: ({ name }) => name,
  cell: ({ name, description }) => (
    <>
      <Name text={name} />
      {description !== "" && <span class="cell-sub dim">{description}</span>}
    </>
  ),
};

const SILENCED_COLUMNS: readonly Column<AlarmRow, AlarmContext>[] = [
  NAME,
  {
    key: "until",
    title: "Until",
    width: 140,
    rank: 0,
    card: "pair",
    cell: ({ silenceEndsAt }) => silenceEndsAt !== null && <Time at={silenceEndsAt} form="moment" />,
  },
  {
    key: "by",
    title: "By",
    width: 130,
    rank: 2,
    card: "pair",
    cell: ({ silencedBy }) => <Name text={silencedBy ?? "–"} />,
  },
  {
    key: "reason",
    title: "Reason",
    width: 160,
    grow: 2,
    rank: 1,
    card: "wide",
    cell: ({ silenceReason }) => silenceReason ?? <span class="dim">none</span>,
  },
  {
    key: "actions",
    title: "Actions",
    untitled: true,
    width: 140,
    rank: 0,
    card: "wide",
    cell: ({ name }) => (
      <Action class="button small" aria-label={`End the silence of ${name}`} onClick={() => void endSilence(name)}>
        End the silence
      </Action>
    ),
  },
];

const ALARM_COLUMNS: readonly Column<AlarmRow, AlarmContext>[] = [
  NAME,
  {
    key: "severity",
    title: "Severity",
    width: 108,
    rank: 1,
    card: "pair",
    bare: true,
    cell: ({ severity, isEnabled }) => <Status name={isEnabled ? severity : "DISABLED"} />,
  },
  {
    key: "sentence",
    title: "Fires when",
    width: 200,
    grow: 3,
    rank: 0,
    card: "wide",
    cell: (alarm) => inZone(alarm.sentence, zone.value),
  },
  {
    key: "subject",
    title: "Watches",
    width: 140,
    grow: 1,
    rank: 2,
    card: "pair",
    cell: ({ subject }) => <Subject subject={subject} />,
  },
  {
    key: "channels",
    title: "Notifies",
    width: 130,
    grow: 1,
    rank: 3,
    card: "pair",
    cell: ({ channels }) => (channels.length === 0 ? <span class="dim">nobody</span> : channels.join(", ")),
  },
  {
    key: "actions",
    title: "Actions",
    untitled: true,
    width: 96,
    rank: 0,
    card: "actions",
    cell: ({ name }, { silence }) => (
      <Action class="button small" aria-label={`Silence alarm ${name}`} onClick={() => silence(name)}>
        Silence
      </Action>
    ),
  },
];

interface Answer {
  readonly firings: readonly FiringRow[];
  readonly firing: number;
  readonly alarms: readonly AlarmRow[];
  readonly count: number;
}

function read({ alarmFirings, alarms }: ResultOf<typeof AlarmsDocument>): Answer {
  return {
    firings: alarmFirings?.nodes ?? [],
    firing: alarmFirings?.totalCount ?? 0,
    alarms: alarms?.nodes ?? [],
    count: alarms?.totalCount ?? 0,
  };
}

interface FiringsProps {
  title: string;
  id: string;
  rows: readonly FiringRow[];
  context: AlarmContext;
}

function Firings({ title, id, rows, context }: FiringsProps) {
  return (
    <Section title={title} aside={plural(rows.length, "firing")}>
      <DataTable id={id} columns={OPEN_COLUMNS} context={context} rows={rows} rowId={(firing) => firing.id} tall />
    </Section>
  );
}

interface PresentProps {
  answer: Answer;
  context: AlarmContext;
}

/** What fires, what of it somebody has seen, and which alarms are quiet. */
function Present({ answer: { firings, firing, alarms, count }, context }: PresentProps) {
  const unseen = firings.filter(({ acknowledgedAt }) => acknowledgedAt === null);
  const seen = firings.filter(({ acknowledgedAt }) => acknowledgedAt !== null);
  const silenced = alarms.filter((alarm) => isSilenced(alarm, now.value));
  return (
    <>
      {unseen.length > 0 ? (
        <Firings title="Firing now" id="firings" rows={unseen} context={context} />
      ) : (
        <Section title="Firing now">
          <Empty title={count === 0 ? "There is no alarm yet" : "No alarm fires"}>
            {count === 0 && (
              <>
                <p class="dim">
                  An alarm watches a task, a job, a group or the nodes. Press “New alarm”, or create one by
                </p>
                <Command text="cronograph alarms create orders-late task=import_orders late=5m" />
              </>
            )}
          </Empty>
        </Section>
      )}
      {firing > firings.length && (
        <p class="dim">
          {integer(firing)} fire; the newest {firings.length} are shown.
        </p>
      )}
      {seen.length > 0 && <Firings title="Acknowledged" id="acknowledged" rows={seen} context={context} />}
      {silenced.length > 0 && (
        <Section title="Silenced">
          <DataTable
            id="silenced"
            columns={SILENCED_COLUMNS}
            context={context}
            rows={silenced}
            rowId={({ name }) => `silenced ${name}`}
            tall
          />
        </Section>
      )}
      {count > 0 && (
        <Section title="All alarms" aside={plural(count, "alarm")}>
          <DataTable
            id="alarms"
            columns={ALARM_COLUMNS}
            context={context}
            rows={alarms}
            rowId={({ name }) => `alarm ${name}`}
            tall
          />
          {count > alarms.length && (
            <p class="panel-body">
              The first {alarms.length} are shown; all are listed by <Command text="cronograph alarms list" />
            </p>
          )}
        </Section>
      )}
    </>
  );
}

function History({ context }: { context: AlarmContext }) {
  const after = searchParams.value.get("after");
  const list = useLiveList(`alarm-history${after ?? ""}`, {
    document: HistoryDocument,
    variables: () => ({ first: PAGE, after }),
    page: ({ alarmFirings }) => alarmFirings ?? { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } },
    id: ({ id }) => id,
    matches: () => null,
    order: (left, right) => byNumber(right.id, left.id),
    first: after === null,
    size: PAGE,
    outdates: ({ kind }) => kind === "ALARM_RESOLVED" || kind === "ALARM_UPDATED",
  });
  return (
    <>
      <h2>History</h2>
      <ListPanel
        label="History"
        id="firing-history"
        after={after ?? ""}
        page={`alarm-history${after ?? ""}`}
        list={list}
        columns={HISTORY_COLUMNS}
        context={context}
        rowId={({ id }) => id}
        tall
        empty={<Empty title="No alarm has fired and was resolved" />}
      />
    </>
  );
}

/** What opened dialog is about. */
interface Opened {
  readonly kind: "details" | "acknowledge";
  readonly firing: FiringRow;
}

export function Alarms() {
  const live = useLive("alarms", {
    document: AlarmsDocument,
    variables: () => ({ first: SHOWN }),
    init: read,
    outdates: ({ kind }) => kind.startsWith("ALARM_"),
    expires: ({ alarms }) => silenceEnds(alarms, serverNow()),
  });
  const [opened, setOpened] = useState<Opened | "all" | null>(null);
  const [silencing, setSilencing] = useState<string | null>(null);
  const [creating, setCreating] = useState(false);
  const context = useMemo(
    (): AlarmContext => ({
      show: (firing) => setOpened({ kind: "details", firing }),
      acknowledge: (firing) => setOpened({ kind: "acknowledge", firing }),
      silence: setSilencing,
    }),
    [],
  );
  useEffect(() => setTitle("Alarms"), []);
  const close = (): void => setOpened(null);
  const unseen = live.state?.firings.some(({ acknowledgedAt }) => acknowledgedAt === null) ?? false;
  return (
    <>
      <PageHead title="Alarms">
        {unseen && (
          <Action class="button" onClick={() => setOpened("all")}>
            Acknowledge all
          </Action>
        )}
        {may("OPERATOR") && (
          <a class="button" href="/deliveries">
            Deliveries
          </a>
        )}
        <Action class="button primary" onClick={() => setCreating(true)}>
          <Icon name="plus" /> New alarm
        </Action>
      </PageHead>
      <div class="inbox">
        <LivePart live={live} rows={6}>
          {(answer) => <Present answer={answer} context={context} />}
        </LivePart>
        <History context={context} />
        {may("OPERATOR") && <Channels />}
      </div>
      {opened === "all" && <AcknowledgeDialog which="all" onClose={close} />}
      {opened !== null && opened !== "all" && opened.kind === "acknowledge" && (
        <AcknowledgeDialog which={opened.firing} onClose={close} />
      )}
      {opened !== null && opened !== "all" && opened.kind === "details" && (
        <FiringDialog firing={opened.firing} onClose={close} />
      )}
      {creating && <NewAlarm onClose={() => setCreating(false)} onDone={() => setCreating(false)} />}
      {silencing !== null && <SilenceAlarm alarm={silencing} onClose={() => setSilencing(null)} />}
    </>
  );
}

// One entry: what three entries import would come with every page.
export { AllDeliveries } from "./all-deliveries";
export { AlarmsOf } from "./of";
