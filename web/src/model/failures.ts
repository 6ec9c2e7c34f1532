/** Groups of failures, and the runs that belong to them. */
import { silenceEnds } from "./silences";

/** By which the server knows the group, and its newest message. */
interface Group {
  readonly jobName: string;
  readonly message: string;
}

export type FailureState = "OPEN" | "SILENCED" | "SOLVED" | "REGRESSED";

interface Marked {
  readonly state: FailureState;
  readonly mark: { readonly silenceEndsAt: string | null } | null;
}

/** Whether people know of a group: then it is no reason to be alarmed. */
export function isKnown({ state }: Pick<Marked, "state">): boolean {
  return state === "SILENCED" || state === "SOLVED";
}

/** When the next silence of a group ends. */
export function markEnds(groups: readonly Marked[], now: number): number | null {
  return silenceEnds(
    groups.map(({ mark }) => ({ silenceEndsAt: mark?.silenceEndsAt ?? null })),
    now,
  );
}

/** Failures that the server groups, the newest; of more the counts are too small. */
export const GROUPED = 20_000;

/** Parts in which messages of one cause differ: numbers, times, addresses, ids; and quoted values. */
const VARYING = /[\w-]*\d[\w.:-]*|'[^']*'|"[^"]*"|\n/g;

/** The longest part of a message that all failures of the group share. */
export function commonPart(message: string): string {
  return message
    .split(VARYING)
    .map((part) => part.trim())
    .reduce((longest, part) => (part.length > longest.length ? part : longest), "");
}

/** The filter of the runs page for the failed runs of a group, where they can be tried again together. */
export function failedRuns({ jobName, message }: Group): URLSearchParams {
  const error = commonPart(message);
  return new URLSearchParams({ state: "FAILED", job: jobName, ...(error !== "" && { error }) });
}

/** The filter of the log for the executions of a group within a range. */
export function failedExecutions({ jobName, message }: Group, range: string): URLSearchParams {
  const q = commonPart(message);
  return new URLSearchParams({ job: jobName, outcome: "failures", range, ...(q !== "" && { q }) });
}
