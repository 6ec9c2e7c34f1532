import type { RunRow } from "../graphql/fragments";
import { words } from "../lib/format";
import { paths } from "../lib/paths";
import { runActions } from "../lib/run-filter";
import { cancelRun, retryNow, retryRun } from "../services/runs";
import { Icon } from "./icon";
import { Name } from "./name";
import { Progress } from "./progress";
import { FreshButton } from "./running-now";
import { Status } from "./status";
import { Elapsed, Time } from "./time";
import { useSteady } from "./use-steady";

/** A run with the sentence that says why it is where it is. */
export interface ExplainedRun extends RunRow {
  readonly explain?: { readonly sentence: string; readonly until: string | null };
}

/** The selected rows, and how they change. */
export interface RowSelection {
  readonly selected: ReadonlySet<string>;
  toggle(id: string): void;
  toggleAll(): void;
}

interface RunTableProps {
  runs: readonly ExplainedRun[];
  /** Without it rows cannot be selected. */
  selection?: RowSelection;
}

/** The queue: what waits and why, what runs and how far it is. */
export function RunTable({ runs, selection }: RunTableProps) {
  const { rows, fresh, release, bind } = useSteady(runs);
  return (
    <div class="table-wrap" {...bind}>
      {fresh > 0 && (
        <div class="fresh-bar">
          <FreshButton count={fresh} release={release} />
        </div>
      )}
      <table class="table runs">
        <thead>
          <tr>
            {selection !== undefined && (
              <th class="col-check">
                <input type="checkbox" aria-label="Select all runs shown" checked={rows.length > 0 && rows.every((run) => selection.selected.has(run.id))} onChange={selection.toggleAll} />
              </th>
            )}
            <th class="col-status">State</th>
            <th class="col-id">Run</th>
            <th class="col-run">Task or job</th>
            <th class="col-group">Group</th>
            <th class="col-since">Since</th>
            <th>Why, and how far</th>
            <th class="col-actions">
              <span class="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((run) => (
            <RunLine key={run.id} run={run} {...(selection === undefined ? {} : { selection })} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function since(run: RunRow): string {
  if (run.finishedAt !== null) return run.finishedAt;
  return run.state === "RUNNING" ? (run.startedAt ?? run.submittedAt) : run.submittedAt;
}

function RunLine({ run, selection }: { run: ExplainedRun; selection?: RowSelection }) {
  const selected = selection?.selected.has(run.id) ?? false;
  return (
    <tr data-row tabIndex={-1} class={selected ? "selected" : ""}>
      {selection !== undefined && (
        <td class="cell-check">
          <input type="checkbox" data-key="x" aria-label={`Select run ${run.id}`} checked={selected} onChange={() => selection.toggle(run.id)} />
        </td>
      )}
      <td class="cell-run-state">
        <Status name={run.state} />
      </td>
      <td class="cell-run-id">
        <a class="row-main num" href={paths.logOfRun(run.id)} data-key="Enter" title="Its executions">
          {run.id}
        </a>
      </td>
      <td class="cell-name">
        {run.taskName === null ? (
          <Name text={run.jobName} />
        ) : (
          <a href={paths.task(run.taskName)}>
            <Name text={run.taskName} />
          </a>
        )}
        <span class="dim cell-sub">
          {run.taskName !== null && run.taskName !== run.jobName && `${run.jobName} · `}
          {words(run.trigger)}
        </span>
      </td>
      <td data-label="Group" class="cell-name">
        <a href={paths.group(run.group)}>{run.group}</a>
        <span class="dim cell-sub">{words(run.priority)}</span>
      </td>
      <td data-label={run.finishedAt === null ? "For" : "Ended"} class="cell-since">
        {run.finishedAt === null ? <Elapsed since={since(run)} /> : <Time at={since(run)} />}
        {run.failures > 0 && (
          <span class="dim cell-sub num">
            failure {run.failures} of {run.retries + 1}
          </span>
        )}
      </td>
      <td class="cell-why">
        <Why run={run} />
      </td>
      <td class="cell-actions">
        <RunButtons run={run} />
      </td>
    </tr>
  );
}

function Why({ run }: { run: ExplainedRun }) {
  if (run.state === "RUNNING") {
    return (
      <>
        <Progress progress={run.progress} />
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
  return (
    <>
      <span class="why">{run.explain?.sentence ?? ""}</span>
      {run.state === "STUCK" && (
        <span class="dim cell-sub">
          next attempt <Time at={run.availableAt} form="countdown" />
          {run.error !== null && ` · ${run.error.split("\n", 1)[0] ?? ""}`}
        </span>
      )}
    </>
  );
}

function RunButtons({ run }: { run: RunRow }) {
  const can = runActions(run.state);
  return (
    <span class="row-actions">
      {can.retryNow && (
        <button type="button" class="icon-button" data-key="r" title="Retry now" aria-label={`Retry run ${run.id} now`} onClick={() => void retryNow(run.id)}>
          <Icon name="retry" />
        </button>
      )}
      {can.retry && (
        <button type="button" class="icon-button" data-key="r" title="Run again" aria-label={`Run ${run.id} again`} onClick={() => void retryRun(run.id)}>
          <Icon name="retry" />
        </button>
      )}
      {can.cancel && (
        <button
          type="button"
          class="icon-button"
          data-key="c"
          title="Cancel"
          aria-label={`Cancel run ${run.id}`}
          disabled={run.cancelRequestedAt !== null}
          onClick={() => void cancelRun(run.id)}
        >
          <Icon name="stop" />
        </button>
      )}
    </span>
  );
}
