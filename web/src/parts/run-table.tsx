import type { RunRow } from "../api/fragments";
import { words } from "../lib/format";
import { labelsOf } from "../lib/labels";
import { paths } from "../lib/paths";
import { inZone } from "../lib/time";
import type { ExplainedRun, Repeated } from "../model/reasons";
import { runActions } from "../model/run-filter";
import { cancelRun, retryNow, retryRun } from "../services/runs";
import { zone } from "../state/prefs";
import { Action } from "../ui/action";
import { type Column, DataTable } from "../ui/data-table";
import { Icon } from "../ui/icon";
import { Name } from "../ui/name";
import { Progress } from "../ui/progress";
import { Status } from "../ui/status";
import { Elapsed, Time } from "../ui/time";
import { Labels } from "./labels";

/** What the cells of the table need beyond their row. */
export interface RunContext {
  /** The runs whose reason is that of the run above them. */
  readonly repeated: Repeated;
  cancel(run: RunRow): void;
}

export type RunColumn = Column<ExplainedRun, RunContext>;

function since(run: RunRow): string {
  if (run.finishedAt !== null) return run.finishedAt;
  return run.state === "RUNNING" ? (run.startedAt ?? run.submittedAt) : run.submittedAt;
}

export const RUN_COLUMNS: readonly RunColumn[] = [
  {
    key: "state",
    title: "State",
    width: 132,
    rank: 0,
    card: "pair",
    bare: true,
    cell: (run) => <Status name={run.state} />,
  },
  {
    key: "id",
    title: "Run",
    width: 90,
    rank: 0,
    card: "pair",
    bare: true,
    cell: (run) => (
      <a class="row-main num" href={paths.run(run.id)} data-key="Enter">
        {run.id}
      </a>
    ),
  },
  {
    key: "name",
    title: "Task or job",
    width: 170,
    grow: 2,
    rank: 0,
    card: "title",
    name: ({ taskName, jobName }) => taskName ?? jobName,
    cell: (run) => <NameOf run={run} />,
  },
  {
    key: "labels",
    title: "Labels",
    width: 130,
    rank: 3,
    optional: true,
    isEmpty: ({ labels }) => labelsOf(labels).length === 0,
    card: "wide",
    bare: true,
    cell: ({ labels }) => <Labels labels={labels} most={3} />,
  },
  {
    key: "group",
    title: "Group",
    width: 132,
    rank: 4,
    card: "pair",
    cell: (run) => (
      <>
        <a href={paths.group(run.group)}>{run.group}</a> <span class="dim cell-sub">{words(run.priority)}</span>
      </>
    ),
  },
  { key: "since", title: "Since", width: 124, rank: 2, card: "pair", cell: (run) => <Since run={run} /> },
  {
    key: "why",
    title: "Why, and how far",
    width: 240,
    grow: 3,
    rank: 1,
    card: "wide",
    bare: true,
    cell: (run, { repeated }) => <Why run={run} repeated={repeated.has(run.id)} />,
  },
  {
    key: "actions",
    title: "Actions",
    untitled: true,
    width: 92,
    rank: 0,
    card: "actions",
    cell: (run, { cancel }) => <RunButtons run={run} cancel={cancel} />,
  },
];

export function runId({ id }: RunRow): string {
  return id;
}

export function runName({ id }: RunRow): string {
  return `run ${id}`;
}

const PART: RunContext = { repeated: new Set(), cancel: ({ id }) => void cancelRun(id) };

/** Runs as a part of a page. */
export function RunTable({ runs }: { runs: readonly ExplainedRun[] }) {
  return <DataTable id="runs" columns={RUN_COLUMNS} context={PART} rows={runs} rowId={runId} />;
}

function NameOf({ run }: { run: RunRow }) {
  return (
    <>
      {run.taskName === null ? (
        <Name text={run.jobName} />
      ) : (
        <a href={paths.task(run.taskName)}>
          <Name text={run.taskName} />
        </a>
      )}{" "}
      <span class="dim cell-sub">
        {run.taskName !== null && run.taskName !== run.jobName && `${run.jobName} · `}
        {words(run.trigger)}
      </span>
    </>
  );
}

function Since({ run }: { run: RunRow }) {
  return (
    <>
      {run.finishedAt === null ? <Elapsed since={since(run)} /> : <Time at={since(run)} />}{" "}
      {run.failures > 0 && (
        <span class="dim cell-sub num">
          failure {run.failures} of {run.retries + 1}
        </span>
      )}
    </>
  );
}

function Why({ run, repeated }: { run: ExplainedRun; repeated: boolean }) {
  if (run.state === "RUNNING") {
    return (
      <>
        <Progress progress={run.progress} />{" "}
        <span class="dim cell-sub">
          {run.node ?? ""}
          {run.cancelRequestedAt !== null && ", asked to stop"}
        </span>
      </>
    );
  }
  if (run.finishedAt !== null) {
    return run.error === null ? null : (
      <span class={run.state === "FAILED" ? "error-line" : "error-line dim"} title={run.error}>
        {run.error.split("\n", 1)[0]}
      </span>
    );
  }
  const sentence = inZone(run.explain?.sentence ?? "", zone.value);
  return (
    <>
      {repeated ? (
        <span class="dim" title={sentence}>
          as above
        </span>
      ) : (
        <span class="why">{sentence}</span>
      )}{" "}
      {run.state === "STUCK" && (
        <span class="dim cell-sub">
          next attempt <Time at={run.availableAt} form="countdown" />
          {run.error !== null && ` · ${run.error.split("\n", 1)[0] ?? ""}`}
        </span>
      )}
    </>
  );
}

function RunButtons({ run, cancel }: { run: RunRow; cancel: RunContext["cancel"] }) {
  const can = runActions(run.state);
  return (
    <span class="row-actions">
      {can.retryNow && (
        <Action
          class="icon-button"
          data-key="r"
          title="Retry now"
          aria-label={`Retry run ${run.id} now`}
          onClick={() => void retryNow(run.id)}
        >
          <Icon name="retry" />
        </Action>
      )}
      {can.retry && (
        <Action
          class="icon-button"
          data-key="r"
          title="Run again"
          aria-label={`Run ${run.id} again`}
          onClick={() => void retryRun(run.id)}
        >
          <Icon name="retry" />
        </Action>
      )}
      {can.cancel && (
        <Action
          class="icon-button"
          data-key="c"
          title="Cancel"
          aria-label={`Cancel run ${run.id}`}
          reason={run.cancelRequestedAt === null ? null : "It is asked to stop already"}
          onClick={() => cancel(run)}
        >
          <Icon name="stop" />
        </Action>
      )}
    </span>
  );
}
