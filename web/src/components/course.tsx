import type { ExecutionRow } from "../graphql/fragments";
import { paths } from "../lib/paths";
import { executionStatus, statusView } from "../lib/status";
import { duration, wholeDuration } from "../lib/time";
import { now } from "../live/clock";
import { type Phase, placed } from "../model/course";
import { Status } from "./status";
import { Time } from "./time";

interface CourseProps {
  phases: readonly Phase<ExecutionRow>[];
  /** The execution whose page this is. */
  current?: string;
}

/** A run's waits, attempts and back-offs below each other, each bar where it lies in time. */
export function CourseChart({ phases, current }: CourseProps) {
  const open = phases.some(({ to }) => to === null);
  // What is over is drawn once.
  const time = open ? now.value : now.peek();
  const places = placed(phases, time);
  return (
    <ol class="course">
      {phases.map((phase, index) => (
        <CoursePhase key={`${phase.name} ${phase.from}`} phase={phase} place={places[index] ?? { left: 0, width: 0 }} time={time} current={phase.attempt !== null && phase.attempt.id === current} />
      ))}
    </ol>
  );
}

interface CoursePhaseProps {
  phase: Phase<ExecutionRow>;
  place: { readonly left: number; readonly width: number };
  time: number;
  current: boolean;
}

function CoursePhase({ phase: { name, kind, from, to, attempt }, place, time, current }: CoursePhaseProps) {
  const tone = attempt === null ? kind : statusView(executionStatus(attempt)).tone;
  return (
    <li class="course-phase" aria-current={current ? "true" : undefined}>
      {attempt === null || current ? (
        <span class="course-name">{name}</span>
      ) : (
        <a class="course-name" href={paths.execution(attempt.id)}>
          {name}
        </a>
      )}
      <svg class="course-bar" width="100%" height="12" aria-hidden="true">
        <rect class={`course-fill course-${tone}`} x={percent(Math.min(place.left, 0.996))} width={percent(Math.max(place.width, 0.004))} height="12" rx="2" />
      </svg>
      <span class="course-time num">
        <CourseLength from={from} to={to} time={time} />
      </span>
      <span class="course-at dim num">
        <Time at={new Date(from).toISOString()} form="moment" />
      </span>
      <span class="course-status">{attempt !== null && <Status name={executionStatus(attempt)} />}</span>
    </li>
  );
}

function CourseLength({ from, to, time }: { from: number; to: number | null; time: number }) {
  if (from > time) return <>to come</>;
  if (to === null) return <span class="tone-active">{wholeDuration((time - from) / 1000)} so far</span>;
  return <>{duration((to - from) / 1000)}</>;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)}%`;
}
