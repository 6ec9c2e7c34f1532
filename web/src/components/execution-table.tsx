import type { ComponentChildren } from "preact";
import type { ExecutionRow } from "../graphql/fragments";
import { integer, words } from "../lib/format";
import { paths } from "../lib/paths";
import { executionStatus } from "../lib/status";
import { Command, Empty } from "./feedback";
import { Name } from "./name";
import { Duration, Progress } from "./progress";
import { FreshButton } from "./running-now";
import { Status } from "./status";
import { Elapsed, Time } from "./time";
import { useSteady } from "./use-steady";

interface ExecutionTableProps {
  executions: readonly ExecutionRow[];
  /** What to say when there is none. */
  empty?: ComponentChildren;
  /** Leaves out the columns that are the same in every row. */
  ofOneTask?: boolean;
}

function NothingYet() {
  return (
    <Empty title="Nothing has run yet">
      <p class="dim">Press “Run now” at a task, or start a job from a terminal:</p>
      <Command text="cronograph trigger cleanup_expired_sessions" />
    </Empty>
  );
}

function ExecutionLine({ execution, ofOneTask }: { execution: ExecutionRow; ofOneTask: boolean }) {
  const { taskName, jobName } = execution;
  return (
    <tr data-row tabIndex={-1}>
      <td data-label="Outcome">
        <Status name={executionStatus(execution)} />
      </td>
      <td data-label="Execution">
        <a class="row-main num" href={paths.execution(execution.id)} data-key="Enter">
          #{execution.id}
        </a>
      </td>
      {!ofOneTask && (
        <td data-label="Job" class="cell-name">
          {taskName === null ? (
            <Name text={jobName} />
          ) : (
            <a href={paths.task(taskName)}>
              <Name text={taskName} />
            </a>
          )}
          {taskName !== null && taskName !== jobName && <span class="dim cell-sub">{jobName}</span>}
        </td>
      )}
      <td data-label="Trigger" class="dim">
        {words(execution.trigger)}
        {execution.attempt > 1 && <span class="cell-sub">attempt {execution.attempt}</span>}
      </td>
      <td data-label="Started">
        <Time at={execution.startedAt} form="moment" />
      </td>
      <td data-label="Duration" class="cell-num">
        {execution.completedAt === null ? <Elapsed since={execution.startedAt} /> : <Duration seconds={execution.duration} />}
      </td>
      <td data-label="Records" class="cell-num num">
        {execution.recordsProcessed === null ? "–" : integer(execution.recordsProcessed)}
      </td>
      <td data-label="Result" class="cell-error">
        {execution.completedAt === null ? (
          <Progress progress={execution.progress} />
        ) : (
          <span class="error-line" title={execution.errorMessage ?? undefined}>
            {execution.errorMessage?.split("\n", 1)[0] ?? ""}
          </span>
        )}
      </td>
    </tr>
  );
}

/** Executions, newest first. */
export function ExecutionTable({ executions, empty, ofOneTask = false }: ExecutionTableProps) {
  const { rows, fresh, release, bind } = useSteady(executions);
  if (rows.length === 0) return <>{empty ?? <NothingYet />}</>;
  return (
    <div class="table-wrap" {...bind}>
      {fresh > 0 && (
        <div class="fresh-bar">
          <FreshButton count={fresh} release={release} />
        </div>
      )}
      <table class="table executions">
        <thead>
          <tr>
            <th class="col-status">Outcome</th>
            <th class="col-id">Execution</th>
            {!ofOneTask && <th class="col-name">Task or job</th>}
            <th class="col-trigger">Trigger</th>
            <th class="col-time">Started</th>
            <th class="col-num">Duration</th>
            <th class="col-num">Records</th>
            <th>Result</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((execution) => (
            <ExecutionLine key={execution.id} execution={execution} ofOneTask={ofOneTask} />
          ))}
        </tbody>
      </table>
    </div>
  );
}
