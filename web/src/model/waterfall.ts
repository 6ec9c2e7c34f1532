/** The durable steps of a run, attempt by attempt, on one scale of time. Pure. */
import { placed } from "./course";

/** A step, as far as its place in time goes. */
export interface Step {
  readonly label: string;
  /** In which attempt it ended, or a wait began; 0 = copied from the run that was retried. */
  readonly attempt: number;
  readonly startedAt: string;
  readonly finishedAt: string | null;
}

/** A step with its bar, in shares of the whole from 0 to 1; null where it lies outside of this run's time. */
export interface PlacedStep<S extends Step> {
  readonly step: S;
  readonly place: { readonly left: number; readonly width: number } | null;
  /** Whether no later attempt did it again: a new run can go on from here. */
  readonly isLast: boolean;
}

export interface AttemptSteps<S extends Step> {
  readonly attempt: number;
  readonly steps: readonly PlacedStep<S>[];
}

/** The steps by attempt, in the order of the server; `over`: when the run ended, for what was never finished. */
export function waterfall<S extends Step>(steps: readonly S[], now: number, over: string | null): readonly AttemptSteps<S>[] {
  const own = steps.filter(({ attempt }) => attempt > 0);
  const places = placed(own.map(({ startedAt, finishedAt }) => spanOf(startedAt, finishedAt ?? over)), now);
  const placeOf = new Map(own.map((step, index) => [step, places[index] ?? null]));
  const last = new Map(steps.map((step) => [step.label, step]));
  const attempts = [...new Set(steps.map(({ attempt }) => attempt))].sort((left, right) => left - right);
  return attempts.map((attempt) => ({
    attempt,
    steps: steps.filter((step) => step.attempt === attempt).map((step) => ({ step, place: placeOf.get(step) ?? null, isLast: last.get(step.label) === step })),
  }));
}

function spanOf(from: string, to: string | null): { readonly from: number; readonly to: number | null } {
  return { from: Date.parse(from), to: to === null ? null : Date.parse(to) };
}
