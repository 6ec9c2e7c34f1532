import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ExecutionRow } from "../../api/fragments";
import type { StepRow } from "../../api/step";
import { plural } from "../../lib/format";
import { paths } from "../../lib/paths";
import { executionStatus, statusView } from "../../lib/status";
import { now } from "../../live/clock";
import { Waits } from "../../parts/waits";
import { useSteps } from "../../services/steps";
import { searchParams, setParams } from "../../state/route";
import { ErrorBox } from "../../ui/feedback";
import { Icon } from "../../ui/icon";
import { Section } from "../../ui/section";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";
import { Bar, Length } from "./bar";
import { courseOf, type Frame, frameOf, type Phase, placeIn } from "./course";
import type { RunDetail } from "./document";
import { StepLine, StepPager } from "./steps";
import { type Part, partsOf, spanOf, unfolded } from "./waterfall";

interface CourseProps {
  run: RunDetail;
  /** The attempt that is looked at. */
  current: number | null;
}

/** An attempt that fills less than this share of the run can be looked at on a scale of its own. */
const SMALL = 0.6;

/**
 * A run's waits, attempts and back-offs below each other, with the steps of each attempt, each bar where it lies in
 * time.
 */
export function Course({ run, current }: CourseProps) {
  const [pages, setPages] = useState<readonly string[]>([]);
  const after = pages.at(-1) ?? null;
  const live = useSteps(run.id, after);
  const steps = live.state?.rows ?? [];
  const cursors = live.state?.cursors ?? [];
  const attempts = run.executions.nodes;
  const phases = courseOf(run, attempts, run.executions.pageInfo.hasNextPage);
  const isOpen =
    phases.some(({ to }) => to === null) ||
    (run.finishedAt === null && steps.some(({ finishedAt }) => finishedAt === null));
  // What is over is drawn once.
  const time = isOpen ? now.value : now.peek();
  const spans = [...phases, ...steps.flatMap((step) => spanOf(step, run.finishedAt) ?? [])];
  const whole = frameOf(spans, time);
  const phase = phases.find(({ attempt }) => attempt !== null && attempt.attempt === current);
  const own = phase === undefined ? null : placeIn(whole, phase, time);
  const canZoom = own !== null && own.width < SMALL && steps.some(({ attempt }) => attempt === current);
  const zoomed = canZoom && searchParams.value.get("scale") === "attempt";
  return (
    <>
      {run.state === "SUSPENDED" && <Waits run={run} steps={steps} />}
      <Section
        title="Course"
        aside={
          <>
            {canZoom && <Scale attempt={current ?? 0} zoomed={zoomed} />}
            <StepPager pages={pages} steps={live.state} onTurn={setPages} />
            {run.executions.pageInfo.hasNextPage && <a href={paths.logOfRun(run.id)}>All attempts in the log</a>}
          </>
        }
      >
        {live.error !== null && <ErrorBox error={live.error} retry={live.reload} />}
        <div class="course-box">
          <ol class="course">
            {partsOf(phases, steps).map((part) => (
              <PartLines
                key={part.phase === null ? `alone ${part.attempt}` : `${part.phase.name} ${part.phase.from}`}
                run={run}
                part={part}
                all={steps}
                cursors={cursors}
                after={after}
                frame={zoomed && phase !== undefined ? frameOf([phase], time) : whole}
                time={time}
                current={current}
              />
            ))}
          </ol>
        </div>
      </Section>
    </>
  );
}

/** Whether bars are drawn in the time of the run, or in that of the attempt. */
function Scale({ attempt, zoomed }: { attempt: number; zoomed: boolean }) {
  const choose = (scale: string | null) => (): void => setParams({ scale }, { replace: true });
  return (
    <span class="segments" role="group" aria-label="Scale">
      <button type="button" class="segment" aria-pressed={!zoomed} onClick={choose(null)}>
        whole run
      </button>
      <button type="button" class="segment" aria-pressed={zoomed} onClick={choose("attempt")}>
        attempt {attempt}
      </button>
    </span>
  );
}

interface PartProps {
  run: RunDetail;
  part: Part<ExecutionRow, StepRow>;
  /** All steps that are shown, their cursors, and the cursor behind which they begin. */
  all: readonly StepRow[];
  cursors: readonly string[];
  after: string | null;
  frame: Frame;
  time: number;
  current: number | null;
}

function PartLines({ run, part: { phase, attempt, steps }, all, cursors, after, frame, time, current }: PartProps) {
  const [chosen, setChosen] = useState<boolean | null>(null);
  const open = chosen ?? unfolded(attempt ?? 0, current, all.length);
  const fold = steps.length === 0 ? null : <Fold count={steps.length} open={open} onToggle={() => setChosen(!open)} />;
  return (
    <li class="course-part">
      {phase !== null && (
        <PhaseLine
          run={run}
          phase={phase}
          frame={frame}
          time={time}
          current={attempt !== null && attempt === current}
          fold={fold}
        />
      )}
      {phase === null && (
        <div class="course-phase">
          <span class="course-name">
            {attempt === 0 ? "taken over" : `attempt ${attempt}`} {fold}
          </span>
          {attempt === 0 && run.retriedFrom !== null && (
            <span class="course-from dim">
              from <a href={paths.run(run.retriedFrom.id)}>run {run.retriedFrom.id}</a>
            </span>
          )}
        </div>
      )}
      {open && steps.length > 0 && (
        <section
          class="course-steps"
          aria-label={attempt === 0 ? `Steps of run ${run.retriedFrom?.id ?? "before"}` : `Steps of attempt ${attempt}`}
        >
          <ol class="steps">
            {steps.map((step) => (
              <StepLine
                key={`${step.label} ${step.startedAt}`}
                run={run}
                step={step}
                frame={frame}
                previous={cursors[all.indexOf(step) - 1] ?? after}
                time={time}
              />
            ))}
          </ol>
        </section>
      )}
    </li>
  );
}

function Fold({ count, open, onToggle }: { count: number; open: boolean; onToggle: () => void }) {
  return (
    <button type="button" class="link-button course-fold" aria-expanded={open} onClick={onToggle}>
      <Icon name={open ? "down" : "right"} /> {plural(count, "step")}
    </button>
  );
}

interface PhaseLineProps {
  run: RunDetail;
  phase: Phase<ExecutionRow>;
  frame: Frame;
  time: number;
  current: boolean;
  fold: ComponentChildren;
}

function PhaseLine({ run, phase, frame, time, current, fold }: PhaseLineProps) {
  const { name, kind, from, to, attempt } = phase;
  const tone = attempt === null ? kind : statusView(executionStatus(attempt)).tone;
  return (
    <div class={current ? "course-phase current" : "course-phase"}>
      <span class="course-name">
        {attempt === null ? (
          name
        ) : (
          <a
            href={paths.attempt(run.id, attempt.attempt)}
            aria-current={current ? "true" : undefined}
            title={current ? "Its log is shown" : "Show its log"}
          >
            {name}
          </a>
        )}{" "}
        {fold}
      </span>
      <Bar place={placeIn(frame, phase, time)} tone={tone} />{" "}
      <span class="course-time num">
        <Length from={from} to={to} time={time} />
      </span>{" "}
      <span class="course-at dim num">
        <Time at={new Date(from).toISOString()} form="moment" />
      </span>{" "}
      <span class="course-status">{attempt !== null && <Status name={executionStatus(attempt)} />}</span>
    </div>
  );
}
