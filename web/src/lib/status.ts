/** Every state is shown by an icon, a word and a colour: never by colour alone. */

export type Tone = "good" | "bad" | "warn" | "active" | "idle";
export type IconName =
  | "check"
  | "cross"
  | "clock"
  | "spark"
  | "stop"
  | "skip"
  | "retry"
  | "lost"
  | "pause"
  | "dots"
  | "snooze"
  | "back"
  | "play"
  | "alert"
  | "search"
  | "sun"
  | "moon"
  | "auto"
  | "help"
  | "copy"
  | "edit"
  | "trash"
  | "plus"
  | "up"
  | "down"
  | "right"
  | "left"
  | "home"
  | "tasks"
  | "jobs"
  | "runs"
  | "log"
  | "groups"
  | "nodes"
  | "explorer"
  | "settings"
  | "close"
  | "resume"
  | "download"
  | "link"
  | "inbox"
  | "bell"
  | "flows"
  | "menu"
  | "table"
  | "person"
  | "people"
  | "leave"
  | "audit"
  | "key";

export interface StatusView {
  readonly word: string;
  readonly icon: IconName;
  readonly tone: Tone;
}

const STATUSES: Readonly<Record<string, StatusView>> = {
  // run states
  WAITING: { word: "waiting", icon: "clock", tone: "idle" },
  SCHEDULED: { word: "scheduled", icon: "dots", tone: "idle" },
  RUNNING: { word: "running", icon: "spark", tone: "active" },
  STUCK: { word: "retrying", icon: "retry", tone: "warn" },
  SUSPENDED: { word: "suspended", icon: "snooze", tone: "idle" },
  SUCCESS: { word: "success", icon: "check", tone: "good" },
  FAILED: { word: "failed", icon: "cross", tone: "bad" },
  CANCELLED: { word: "cancelled", icon: "stop", tone: "idle" },
  SKIPPED: { word: "skipped", icon: "skip", tone: "idle" },
  // outcomes of executions beyond these
  TIMED_OUT: { word: "timed out", icon: "clock", tone: "bad" },
  LOST: { word: "lost", icon: "lost", tone: "bad" },
  SNOOZED: { word: "snoozed", icon: "snooze", tone: "good" },
  RECOVERED: { word: "retried, succeeded", icon: "retry", tone: "good" },
  HANDED_BACK: { word: "handed back", icon: "back", tone: "idle" },
  // steps beyond these
  DONE: { word: "done", icon: "check", tone: "good" },
  REJECTED: { word: "rejected", icon: "cross", tone: "warn" },
  // nodes
  STARTING: { word: "starting", icon: "dots", tone: "idle" },
  ACTIVE: { word: "active", icon: "check", tone: "good" },
  DRAINING: { word: "draining", icon: "down", tone: "warn" },
  STOPPING: { word: "stopping", icon: "down", tone: "warn" },
  STOPPED: { word: "stopped", icon: "stop", tone: "idle" },
  EXPIRED: { word: "expired", icon: "lost", tone: "bad" },
  // tasks and groups
  PAUSED: { word: "paused", icon: "pause", tone: "warn" },
  DISABLED: { word: "disabled", icon: "stop", tone: "idle" },
  FINISHED: { word: "finished", icon: "check", tone: "idle" },
  STALLED: { word: "stalled", icon: "alert", tone: "bad" },
  NO_JOB: { word: "unknown job", icon: "alert", tone: "bad" },
  ENABLED: { word: "on", icon: "check", tone: "good" },
  // alarms and the messages about them
  CRITICAL: { word: "critical", icon: "alert", tone: "bad" },
  WARNING: { word: "warning", icon: "alert", tone: "warn" },
  FIRING: { word: "fires", icon: "bell", tone: "bad" },
  ACKNOWLEDGED: { word: "fires, acknowledged", icon: "person", tone: "warn" },
  SILENCED: { word: "silenced", icon: "snooze", tone: "idle" },
  OPEN: { word: "open", icon: "dots", tone: "idle" },
  SOLVED: { word: "solved", icon: "check", tone: "good" },
  REGRESSED: { word: "came back", icon: "alert", tone: "bad" },
  FAILING: { word: "failing", icon: "alert", tone: "warn" },
  PARKED: { word: "parked", icon: "pause", tone: "bad" },
  SWITCHED_OFF: { word: "stopped", icon: "alert", tone: "bad" },
  SENT: { word: "accepted", icon: "check", tone: "good" },
};

/** The view of a state, outcome or the like; a name from a newer server is shown as it is. */
export function statusView(name: string): StatusView {
  return STATUSES[name] ?? { word: name.toLowerCase().replaceAll("_", " "), icon: "dots", tone: "idle" };
}

/** What an execution shows: its outcome once it has ended, and whether a failure was made good; else that it runs. */
export function executionStatus(execution: {
  readonly outcome: string | null;
  readonly success: boolean | null;
  readonly completedAt: string | null;
  readonly isRecovered?: boolean;
}): string {
  if (execution.isRecovered === true) return "RECOVERED";
  if (execution.outcome !== null) return execution.outcome;
  if (execution.completedAt === null) return "RUNNING";
  return execution.success ? "SUCCESS" : "FAILED";
}

/** What a task shows, the most urgent first. */
export function taskStatus(task: {
  readonly isEnabled: boolean;
  readonly pausedAt: string | null;
  readonly isFinished: boolean;
  readonly isJobKnown: boolean;
  readonly isStalled: boolean;
}): string {
  if (!task.isJobKnown) return "NO_JOB";
  if (task.pausedAt !== null) return "PAUSED";
  if (!task.isEnabled) return "DISABLED";
  if (task.isFinished) return "FINISHED";
  return task.isStalled ? "STALLED" : "ENABLED";
}
