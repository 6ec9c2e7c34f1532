import { integer } from "../lib/format";
import { paths } from "../lib/paths";
import { Empty } from "../ui/feedback";
import { Few } from "../ui/few";
import { Time } from "../ui/time";

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

/** Failures that the server groups, the newest; of more the counts are too small. */
const GROUPED = 20_000;

/** Parts in which messages of one cause differ: numbers, times, addresses, ids; and quoted values. */
const VARYING = /[\w-]*\d[\w.:-]*|'[^']*'|"[^"]*"|\n/g;

/** The longest part of a message that all failures of the group share. */
function commonPart(message: string): string {
  return message
    .split(VARYING)
    .map((part) => part.trim())
    .reduce((longest, part) => (part.length > longest.length ? part : longest), "");
}

/** The failed runs of a group, where they can be tried again together. */
function runsOf({ jobName, message }: FailureGroupRow): string {
  const error = commonPart(message);
  const filter = { state: "FAILED", job: jobName, ...(error !== "" && { error }) };
  return `/runs?${new URLSearchParams(filter).toString()}`;
}

interface FailureGroupsProps {
  groups: readonly FailureGroupRow[];
  /** How many failures there are in all. */
  failures: number;
  /** In which time: "24 hours". */
  within?: string;
  few?: number;
}

/** The failures of some time, grouped by their error. */
export function FailureGroups({ groups, failures, within = "24 hours", few = 2 }: FailureGroupsProps) {
  if (groups.length === 0) {
    return (
      <Empty title={`Nothing failed in the last ${within}`}>
        <p class="dim">Failures show here, grouped by their error.</p>
      </Empty>
    );
  }
  return (
    <Few
      class="failure-list"
      few={few}
      items={groups.map((group) => (
        <li
          key={`${group.jobName} ${group.errorType ?? ""} ${group.message}`}
          class="failure-item"
          data-row
          tabIndex={-1}
        >
          <span class="failure-count num">
            {integer(group.count)}
            {failures > GROUPED && "+"}×
          </span>
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
              )}{" "}
              · <a href={runsOf(group)}>failed runs</a>
            </span>
          </span>
        </li>
      ))}
    />
  );
}
