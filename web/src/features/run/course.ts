/** The course of a run: its waits, its attempts and what lay between them, on one scale of time. Pure. */

/** An attempt, as its execution tells it. */
export interface Attempt {
  readonly id: string;
  readonly attempt: number;
  readonly startedAt: string;
  readonly completedAt: string | null;
  readonly outcome: string | null;
}

/** What is known of the run. */
export interface Course {
  readonly submittedAt: string;
  /** When it was or is due, for the attempt that is next or was last. */
  readonly availableAt: string;
  readonly finishedAt: string | null;
  readonly state: string;
}

export type PhaseKind = "wait" | "attempt" | "back-off";

/** A part of the course. */
export interface Phase<A extends Attempt = Attempt> {
  readonly name: string;
  readonly kind: PhaseKind;
  /** Milliseconds since 1970. */
  readonly from: number;
  /** Null while it lasts and nobody knows how long. */
  readonly to: number | null;
  readonly attempt: A | null;
}

/** Phases shorter than this, in milliseconds, are no wait that anybody would look for. */
const SHORTEST = 1;
/** Due times this much after the submission are a wait of its own. */
const LATER = 500;

/** What is waited for after an attempt that ended so. */
function waitAfter(outcome: string | null): Pick<Phase, "name" | "kind"> {
  if (outcome === "HANDED_BACK") return { name: "handed back", kind: "wait" };
  if (outcome === "SNOOZED") return { name: "snoozed", kind: "back-off" };
  if (outcome === "SUSPENDED") return { name: "suspended", kind: "wait" };
  return { name: "back-off", kind: "back-off" };
}

function time(at: string): number {
  return Date.parse(at);
}

/** The phases in order; `attempts` in any order, `more`: earlier ones are left out. */
export function courseOf<A extends Attempt>(run: Course, attempts: readonly A[], more = false): readonly Phase<A>[] {
  const ordered = [...attempts].sort((left, right) => Number(left.id) - Number(right.id));
  const [first, last] = [ordered[0], ordered.at(-1)];
  const begin = first === undefined ? untilNow(run) : time(first.startedAt);
  const before = more
    ? [phase<A>("earlier attempts", "wait", time(run.submittedAt), begin)]
    : beforeFirst<A>(run, ordered.length, begin);
  const tried = ordered.flatMap((attempt, index): readonly Phase<A>[] => {
    const own: Phase<A> = {
      name: `attempt ${attempt.attempt}`,
      kind: "attempt",
      from: time(attempt.startedAt),
      to: attempt.completedAt === null ? null : time(attempt.completedAt),
      attempt,
    };
    const next = ordered[index + 1];
    return next === undefined || attempt.completedAt === null
      ? [own]
      : [
          own,
          { ...waitAfter(attempt.outcome), from: time(attempt.completedAt), to: time(next.startedAt), attempt: null },
        ];
  });
  const rest = last?.completedAt == null ? [] : afterLast<A>(run, last, time(last.completedAt));
  return [...before, ...tried, ...rest].filter(
    ({ from, to, attempt }) => attempt !== null || to === null || to - from >= SHORTEST,
  );
}

function phase<A extends Attempt>(name: string, kind: PhaseKind, from: number, to: number | null): Phase<A> {
  return { name, kind, from, to, attempt: null };
}

/** The end of what has not started: null as long as it may. */
function untilNow(run: Course): number | null {
  return run.finishedAt === null ? null : time(run.finishedAt);
}

/** From the submission to the first attempt: until it was due, if that was later, and in the queue. */
function beforeFirst<A extends Attempt>(run: Course, attempts: number, begin: number | null): readonly Phase<A>[] {
  const [submitted, due] = [time(run.submittedAt), time(run.availableAt)];
  // Of a run that was tried again the due time is that of its last attempt.
  const later =
    attempts <= 1 &&
    !(attempts === 1 && run.state === "STUCK") &&
    due > submitted + LATER &&
    (begin === null || due <= begin);
  if (!later) return [phase("queued", "wait", submitted, begin)];
  return [phase("not due yet", "wait", submitted, due), phase("queued", "wait", due, begin)];
}

/** What follows the last attempt that has ended, while the run goes on or until it was given up. */
function afterLast<A extends Attempt>(run: Course, last: A, from: number): readonly Phase<A>[] {
  if (run.state === "RUNNING") return [];
  if (run.finishedAt !== null) {
    const waited = time(run.finishedAt) - from;
    return waited > LATER ? [{ ...waitAfter(last.outcome), from, to: time(run.finishedAt), attempt: null }] : [];
  }
  const due = time(run.availableAt);
  if (run.state === "SUSPENDED" || due <= from) return [{ ...waitAfter(last.outcome), from, to: null, attempt: null }];
  return [{ ...waitAfter(last.outcome), from, to: due, attempt: null }, phase("queued", "wait", due, null)];
}

/** A stretch of time, in milliseconds since 1970; `to` is null while it lasts. */
export interface Span {
  readonly from: number;
  readonly to: number | null;
}

/** What is drawn from the left edge to the right one. */
export interface Frame {
  readonly from: number;
  readonly to: number;
}

/** The frame in which all of these are seen; what lasts reaches to now. */
export function frameOf(spans: readonly Span[], now: number): Frame {
  const from = Math.min(...spans.map((span) => span.from));
  return { from, to: Math.max(from + 1, ...spans.map((span) => endOf(span, now))) };
}

function endOf({ from, to }: Span, now: number): number {
  return to ?? Math.max(from, now);
}

/**
 * Where a span lies in a frame, in shares from 0 to 1; null where nothing of it is within. What has not begun has no
 * width.
 */
export function placeIn(
  frame: Frame,
  span: Span,
  now: number,
): { readonly left: number; readonly width: number } | null {
  const end = endOf(span, now);
  if (end < frame.from || span.from > frame.to) return null;
  const whole = frame.to - frame.from;
  const left = (Math.max(span.from, frame.from) - frame.from) / whole;
  return { left, width: Math.max(0, (Math.min(end, frame.to) - frame.from) / whole - left) };
}
