/** The policies of a task as sentences. */

import { plural } from "../../lib/format";
import { duration, full } from "../../lib/time";

export interface Policies {
  readonly overlap: string;
  readonly misfire: string;
  readonly misfireGrace: number;
  readonly catchUpLimit: number;
  readonly tolerance: number | null;
  readonly timeout: number | null;
  readonly retries: number;
  readonly retryDelay: number;
  readonly jitter: number;
  readonly startAt: string | null;
  readonly endAt: string | null;
}

const OVERLAP: Readonly<Record<string, string>> = {
  SKIP: "While one of its runs is unfinished, further occurrences are skipped.",
  QUEUE: "While one of its runs is unfinished, further ones queue; never do two run at once.",
  ALLOW: "Its runs may overlap.",
  REPLACE: "A new run cancels the one that is unfinished.",
};

function span(seconds: number): string {
  if (seconds >= 60 && seconds % 60 === 0 && seconds < 3600) return `${seconds / 60} min`;
  return Number.isInteger(seconds) && seconds < 60 ? `${seconds} s` : duration(seconds);
}

function misfire({ misfire: policy, misfireGrace, catchUpLimit }: Policies): string {
  const late = `When it is more than ${span(misfireGrace)} late`;
  switch (policy) {
    case "LAST":
      return `${late}, only the newest missed occurrence runs.`;
    case "ALL":
      return `${late}, the newest ${plural(catchUpLimit, "missed occurrence")} run one after another.`;
    case "NONE":
      return `${late}, missed occurrences do not run.`;
    default:
      return `${late}, policy ${policy} decides.`;
  }
}

function moment(at: string): string {
  return `${full(Date.parse(at), "utc")} UTC`;
}

/** One sentence for each policy that matters. */
export function policySentences(task: Policies): readonly string[] {
  const { tolerance, timeout, retries, retryDelay, jitter, startAt, endAt } = task;
  return [
    OVERLAP[task.overlap] ?? `Overlap policy ${task.overlap}.`,
    misfire(task),
    retries === 0
      ? "A failed run is not tried again."
      : retries === 1
        ? `A failed run is tried again once, after ${span(retryDelay)}.`
        : `A failed run is tried again up to ${plural(retries, "time")}, first after ${span(retryDelay)}, then twice as long each time.`,
    timeout === null
      ? "An attempt may take as long as it likes."
      : `An attempt may take ${span(timeout)}; then it is asked to stop, and soon after stopped.`,
    ...(tolerance === null
      ? []
      : [`A run that would start more than ${span(tolerance)} before its interval is over is dropped.`]),
    ...(jitter === 0
      ? []
      : [`It starts up to ${span(jitter)} later than its nominal time, always by the same amount.`]),
    ...(startAt === null ? [] : [`No occurrence before ${moment(startAt)}.`]),
    ...(endAt === null ? [] : [`No occurrence after ${moment(endAt)}.`]),
  ];
}
