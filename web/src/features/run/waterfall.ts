/** The waterfall of a run: its waits and attempts, and under each attempt the steps that ended in it. Pure. */
import type { Attempt, Phase, Span } from "./course";

/** A step, as far as its place in time goes. */
export interface Step {
  readonly label: string;
  /** In which attempt it ended, or a wait began; 0 = copied from the run that was retried. */
  readonly attempt: number;
  readonly startedAt: string;
  readonly finishedAt: string | null;
}

/**
 * A part of the course with its steps; without a phase, steps of an attempt whose execution is not known (0 = taken
 * over).
 */
export interface Part<A extends Attempt, S extends Step> {
  readonly phase: Phase<A> | null;
  readonly attempt: number | null;
  readonly steps: readonly S[];
}

/** The parts from the first to the last; the steps of each in the order of the server. */
export function partsOf<A extends Attempt, S extends Step>(
  phases: readonly Phase<A>[],
  steps: readonly S[],
): readonly Part<A, S>[] {
  const of = new Map<number, S[]>();
  for (const step of steps) of.set(step.attempt, [...(of.get(step.attempt) ?? []), step]);
  const known = new Set(phases.flatMap(({ attempt }) => (attempt === null ? [] : [attempt.attempt])));
  const strange = [...of.keys()].filter((attempt) => !known.has(attempt)).sort((left, right) => left - right);
  const alone = (attempts: readonly number[]): readonly Part<A, S>[] =>
    attempts.map((attempt) => ({ phase: null, attempt, steps: of.get(attempt) ?? [] }));
  const first = Math.min(...known);
  const parts = phases.flatMap((phase): readonly Part<A, S>[] => {
    const attempt = phase.attempt?.attempt ?? null;
    const own = { phase, attempt, steps: attempt === null ? [] : (of.get(attempt) ?? []) };
    // Those of earlier attempts stand where the wait for the first one that is known ends.
    return attempt !== null && attempt === first
      ? [...alone(strange.filter((each) => each > 0 && each < first)), own]
      : [own];
  });
  return [
    ...alone(strange.filter((each) => each === 0)),
    ...parts,
    ...alone(strange.filter((each) => each > 0 && !(each < first && known.size > 0))),
  ];
}

/**
 * When a step was taken; null for one of another run's time. `over`: when the run ended, for what was never finished.
 */
export function spanOf(step: Step, over: string | null): Span | null {
  const end = step.finishedAt ?? over;
  return step.attempt === 0 ? null : { from: Date.parse(step.startedAt), to: end === null ? null : Date.parse(end) };
}

/** With more steps than this only those of the attempt that is looked at are unfolded. */
const MANY = 60;

/** Whether the steps of an attempt are unfolded at first. */
export function unfolded(attempt: number, current: number | null, all: number): boolean {
  return all <= MANY || attempt === current;
}
