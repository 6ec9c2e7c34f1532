/** Why an occurrence became no run, in words. */
const REASONS: Readonly<Record<string, string>> = {
  OVERLAP: "an earlier run was unfinished",
  TOLERANCE: "too soon after the last start",
  MISSED: "missed while nothing ran, and not made up for",
  COALESCED: "folded into a newer occurrence",
  PAUSED: "the task was paused",
  WINDOW: "outside its start and end",
  DISABLED: "the task was switched off",
  NO_JOB: "no node knew the job",
  UNIQUE_KEY: "a run with the same unique key was unfinished",
  EXPIRED: "its run had not started in time",
  QUEUE_FULL: "as many runs waited as may",
  CANCELLED: "cancelled before it started",
  PREDECESSOR: "what it comes after in its flow ended otherwise than it needs",
  DELETED: "the task was deleted",
};

export function skipReason(reason: string): string {
  return REASONS[reason] ?? reason.toLowerCase().replaceAll("_", " ");
}

/** The policy values that decided it: `overlap SKIP, misfireGrace 60`. */
export function policyText(policy: unknown): string {
  if (typeof policy !== "object" || policy === null) return "";
  return Object.entries(policy)
    .map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}
