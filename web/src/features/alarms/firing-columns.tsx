import { words } from "../../lib/format";
import { paths } from "../../lib/paths";
import { inZone } from "../../lib/time";
import { zone } from "../../state/prefs";
import { Action } from "../../ui/action";
import type { Column } from "../../ui/data-table";
import { Name } from "../../ui/name";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";
import type { AlarmRow, FiringRow } from "./document";

/** What buttons of a firing or an alarm open. */
export interface AlarmContext {
  show(firing: FiringRow): void;
  acknowledge(firing: FiringRow): void;
  silence(alarm: string): void;
}

type FiringColumn = Column<FiringRow, AlarmContext>;

/** Subjects without a name. */
const UNNAMED: Readonly<Record<string, string>> = {
  NODE: "every node",
  WEBHOOK: "every webhook",
  DATABASE: "the database",
};

/** The thing that an alarm watches, with the way to it. */
export function Subject({ subject: { kind, name } }: Pick<AlarmRow, "subject">) {
  if (name === null || name === "") return <>{UNNAMED[kind]}</>;
  switch (kind) {
    case "TASK":
      return <a href={paths.task(name)}>task {name}</a>;
    case "JOB":
      return <a href={paths.job(name)}>job {name}</a>;
    case "GROUP":
      return <a href={paths.group(name)}>group {name}</a>;
    case "NODE":
      return <a href={`/nodes?q=${encodeURIComponent(name)}`}>node {name}</a>;
    case "WEBHOOK":
      return <a href="/webhooks">webhook {name}</a>;
    default:
      return (
        <>
          {words(kind)} {name}
        </>
      );
  }
}

/** The run, the execution or the flow that it is about. */
function About({ runId, executionId, flowId }: FiringRow) {
  if (runId === null && executionId === null && flowId === null) return <span class="dim">–</span>;
  return (
    <>
      {runId !== null && <a href={paths.run(runId)}>run {runId}</a>}{" "}
      {executionId !== null && <a href={paths.execution(executionId)}>execution {executionId}</a>}
      {flowId !== null && <a href={paths.flow(flowId)}>flow {flowId}</a>}
    </>
  );
}

const SEVERITY: FiringColumn = {
  key: "severity",
  title: "Severity",
  width: 108,
  rank: 1,
  card: "pair",
  bare: true,
  cell: ({ severity }) => <Status name={severity} />,
};
const ALARM: FiringColumn = {
  key: "name",
  title: "Alarm",
  width: 150,
  grow: 1,
  rank: 0,
  card: "title",
  name: ({ alarmName }) => alarmName,
  cell: ({ alarmName, subject }) => (
    <>
      <Name text={alarmName} />{" "}
      <span class="cell-sub dim">
        <Subject subject={subject} />
      </span>
    </>
  ),
};
const WHAT: FiringColumn = {
  key: "what",
  title: "What it found",
  width: 220,
  grow: 3,
  rank: 0,
  card: "wide",
  bare: true,
  cell: ({ sentence, acknowledgedBy, acknowledgedAt, note, isNotified }) => (
    <>
      {inZone(sentence, zone.value)}{" "}
      {acknowledgedAt !== null && (
        <span class="cell-sub dim">
          {acknowledgedBy ?? "Somebody"} takes care of it since <Time at={acknowledgedAt} form="moment" />
          {note !== null && `: ${note}`}
        </span>
      )}
      {!isNotified && <span class="cell-sub dim">no channel was notified</span>}
    </>
  ),
};
const OCCURRENCE: FiringColumn = {
  key: "occurrence",
  title: "Occurrence",
  width: 132,
  rank: 3,
  card: "pair",
  cell: ({ scheduledFor }) =>
    scheduledFor === null ? <span class="dim">–</span> : <Time at={scheduledFor} form="moment" />,
};
const ABOUT: FiringColumn = {
  key: "about",
  title: "About",
  width: 148,
  rank: 2,
  card: "pair",
  cell: (firing) => <About {...firing} />,
};
const FIRED: FiringColumn = {
  key: "fired",
  title: "Fired",
  width: 120,
  rank: 1,
  card: "pair",
  cell: ({ firedAt }) => <Time at={firedAt} />,
};
const RESOLVED: FiringColumn = {
  key: "resolved",
  title: "Resolved",
  width: 120,
  rank: 1,
  card: "pair",
  cell: ({ resolvedAt }) => (resolvedAt === null ? <span class="dim">–</span> : <Time at={resolvedAt} />),
};

function DetailsButton({ firing, show }: { firing: FiringRow; show: AlarmContext["show"] }) {
  return (
    <button
      type="button"
      class="button small"
      data-key="Enter"
      aria-label={`Details of firing ${firing.id}`}
      onClick={() => show(firing)}
    >
      Details
    </button>
  );
}

const BUTTONS: FiringColumn = {
  key: "actions",
  title: "Actions",
  untitled: true,
  width: 270,
  rank: 0,
  card: "wide",
  cell: (firing, { show, acknowledge, silence }) => (
    <span class="row-actions spaced">
      {firing.acknowledgedAt === null && (
        <Action
          class="button small primary"
          aria-label={`Acknowledge firing ${firing.id}`}
          onClick={() => acknowledge(firing)}
        >
          Acknowledge
        </Action>
      )}
      <Action
        class="button small"
        aria-label={`Silence alarm ${firing.alarmName} of firing ${firing.id}`}
        onClick={() => silence(firing.alarmName)}
      >
        Silence
      </Action>
      <DetailsButton firing={firing} show={show} />
    </span>
  ),
};
const ONLY_DETAILS: FiringColumn = {
  ...BUTTONS,
  width: 92,
  card: "actions",
  cell: (firing, { show }) => <DetailsButton firing={firing} show={show} />,
};

export const OPEN_COLUMNS: readonly FiringColumn[] = [SEVERITY, ALARM, WHAT, OCCURRENCE, ABOUT, FIRED, BUTTONS];
export const HISTORY_COLUMNS: readonly FiringColumn[] = [
  SEVERITY,
  ALARM,
  WHAT,
  OCCURRENCE,
  ABOUT,
  FIRED,
  RESOLVED,
  ONLY_DETAILS,
];
