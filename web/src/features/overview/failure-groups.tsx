import { integer } from "../../lib/format";
import { paths } from "../../lib/paths";
import { Empty } from "../../ui/feedback";
import { Few } from "../../ui/few";
import { Time } from "../../ui/time";

/** Failures of one job with one kind of error. */
export interface FailureGroupRow {
  readonly jobName: string;
  readonly errorType: string | null;
  readonly message: string;
  readonly count: number;
  readonly firstAt: string;
  readonly lastAt: string;
  readonly execution: { readonly id: string; readonly taskName: string | null } | null;
}

/** The failures of the last day, grouped by their error. */
export function FailureGroups({ groups }: { groups: readonly FailureGroupRow[] }) {
  if (groups.length === 0) {
    return (
      <Empty title="Nothing failed in the last 24 hours">
        <p class="dim">Failures show here, grouped by their error.</p>
      </Empty>
    );
  }
  return (
    <Few
      class="failure-list"
      few={2}
      items={groups.map((group) => (
        <li
          key={`${group.jobName} ${group.errorType ?? ""} ${group.message}`}
          class="failure-item"
          data-row
          tabIndex={-1}
        >
          <span class="failure-count num">{integer(group.count)}×</span>
          <span class="failure-text">
            {group.execution === null ? (
              <span class="error-line">{group.message}</span>
            ) : (
              <a class="error-line" href={paths.execution(group.execution.id)} title={group.message} data-key="Enter">
                {group.errorType !== null && !group.message.startsWith(group.errorType) && `${group.errorType}: `}
                {group.message.split("\n", 1)[0]}
              </a>
            )}
            <span class="dim cell-sub">
              <a href={`${paths.logOfJob(group.jobName)}&outcome=failures`}>{group.jobName}</a> · last{" "}
              <Time at={group.lastAt} />
              {group.count > 1 && (
                <>
                  {" "}
                  · first <Time at={group.firstAt} />
                </>
              )}
            </span>
          </span>
        </li>
      ))}
    />
  );
}
