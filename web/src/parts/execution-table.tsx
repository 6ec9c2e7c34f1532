import type { ComponentChildren } from "preact";
import type { ExecutionRow } from "../api/fragments";
import { integer, words } from "../lib/format";
import { labelsOf } from "../lib/labels";
import { paths } from "../lib/paths";
import { executionStatus } from "../lib/status";
import { type Column, DataTable } from "../ui/data-table";
import { Command, Empty } from "../ui/feedback";
import { Name } from "../ui/name";
import { Duration, Progress } from "../ui/progress";
import { Status } from "../ui/status";
import { Elapsed, Time } from "../ui/time";
import { Labels } from "./labels";

export type ExecutionColumn = Column<ExecutionRow>;

function NameOf({ taskName, jobName }: ExecutionRow) {
  return (
    <>
      {taskName === null ? (
        <Name text={jobName} />
      ) : (
        <a href={paths.task(taskName)}>
          <Name text={taskName} />
        </a>
      )}{" "}
      {taskName !== null && taskName !== jobName && <span class="dim cell-sub">{jobName}</span>}
    </>
  );
}

function ResultOf({ completedAt, progress, errorMessage }: ExecutionRow) {
  if (completedAt === null) return <Progress progress={progress} />;
  return (
    <span class="error-line" title={errorMessage ?? undefined}>
      {errorMessage?.split("\n", 1)[0] ?? ""}
    </span>
  );
}

const NAME: ExecutionColumn = {
  key: "name",
  title: "Task or job",
  width: 160,
  grow: 1,
  rank: 0,
  card: "title",
  name: ({ taskName, jobName }) => taskName ?? jobName,
  cell: (execution) => <NameOf {...execution} />,
};

const LABELS: ExecutionColumn = {
  key: "labels",
  title: "Labels",
  width: 130,
  rank: 3,
  optional: true,
  isEmpty: ({ labels }) => labelsOf(labels).length === 0,
  card: "wide",
  bare: true,
  cell: ({ labels }) => <Labels labels={labels} list="/log" most={3} />,
};

/** Columns that say the same in every row are left out where a list is of one task. */
const OF_ONE_TASK: readonly ExecutionColumn[] = [
  {
    key: "outcome",
    title: "Outcome",
    width: 176,
    rank: 0,
    card: "pair",
    bare: true,
    cell: (execution) => <Status name={executionStatus(execution)} />,
  },
  {
    key: "id",
    title: "Execution",
    width: 94,
    rank: 0,
    card: "pair",
    bare: true,
    cell: ({ id, run, attempt }) => (
      <a
        class="row-main num"
        href={run === null ? paths.execution(id) : paths.attempt(run.id, attempt)}
        data-key="Enter"
      >
        #{id}
      </a>
    ),
  },
  {
    key: "trigger",
    title: "Trigger",
    width: 98,
    rank: 4,
    card: "none",
    cell: ({ trigger, attempt }) => (
      <span class="dim">
        {words(trigger)} {attempt > 1 && <span class="cell-sub">attempt {attempt}</span>}
      </span>
    ),
  },
  {
    key: "started",
    title: "Started",
    width: 132,
    rank: 2,
    card: "pair",
    cell: ({ startedAt }) => <Time at={startedAt} form="moment" />,
  },
  {
    key: "duration",
    title: "Duration",
    width: 96,
    rank: 2,
    card: "pair",
    number: true,
    cell: ({ startedAt, completedAt, duration }) =>
      completedAt === null ? <Elapsed since={startedAt} /> : <Duration seconds={duration} />,
  },
  {
    key: "records",
    title: "Records",
    width: 92,
    rank: 5,
    isEmpty: ({ recordsProcessed }) => recordsProcessed === null,
    card: "pair",
    number: true,
    cell: ({ recordsProcessed }) => (
      <span class="num">{recordsProcessed === null ? "–" : integer(recordsProcessed)}</span>
    ),
  },
  {
    key: "error",
    title: "Result",
    width: 240,
    grow: 4,
    rank: 1,
    isEmpty: ({ completedAt, errorMessage }) => completedAt !== null && errorMessage === null,
    card: "wide",
    bare: true,
    cell: (execution) => <ResultOf {...execution} />,
  },
];

const NODE: ExecutionColumn = {
  key: "node",
  title: "Node",
  width: 172,
  rank: 6,
  card: "none",
  cell: ({ node }) => (
    <span class="dim">
      <Name text={node} />
    </span>
  ),
};

export const EXECUTION_COLUMNS: readonly ExecutionColumn[] = [
  ...OF_ONE_TASK.slice(0, 2),
  NAME,
  LABELS,
  ...OF_ONE_TASK.slice(2, -1),
  NODE,
  ...OF_ONE_TASK.slice(-1),
];

export function executionId({ id }: ExecutionRow): string {
  return id;
}

export function NothingYet() {
  return (
    <Empty title="Nothing has run yet">
      <p class="dim">Press “Run now” on a task, or start a job from a terminal:</p>
      <Command text="cronograph trigger cleanup_expired_sessions" />
    </Empty>
  );
}

interface ExecutionTableProps {
  executions: readonly ExecutionRow[];
  /** What to say when there is none. */
  empty?: ComponentChildren;
  /** Leaves out the columns that are the same in every row. */
  ofOneTask?: boolean;
}

/** Executions as a part of a page, newest first. */
export function ExecutionTable({ executions, empty, ofOneTask = false }: ExecutionTableProps) {
  if (executions.length === 0) return <>{empty ?? <NothingYet />}</>;
  return (
    <DataTable
      id="executions"
      columns={ofOneTask ? OF_ONE_TASK : EXECUTION_COLUMNS}
      context={null}
      rows={executions}
      rowId={executionId}
    />
  );
}
