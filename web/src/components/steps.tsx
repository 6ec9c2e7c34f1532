import { useState } from "preact/hooks";
import { type StepRow, StepFragment } from "../graphql/step";
import { graphql } from "../graphql/tada";
import { plural } from "../lib/format";
import { paths } from "../lib/paths";
import { runActions } from "../lib/run-filter";
import { statusView } from "../lib/status";
import { duration, wholeDuration } from "../lib/time";
import { now } from "../live/clock";
import { type LiveResult, useLive } from "../live/use-live";
import { type PlacedStep, waterfall } from "../model/waterfall";
import { retryRun } from "../services/runs";
import { navigate } from "../state/route";
import { Action } from "./action";
import { Icon } from "./icon";
import { JsonView } from "./json-view";
import { LivePart } from "./live-part";
import { Section } from "./section";
import { Status } from "./status";
import { Time } from "./time";
import { Waits } from "./waits";

/** Of a run with very many steps so many are shown at once. */
const SHOWN = 300;

const StepsDocument = graphql(
  `
  query RunSteps($id: ID!, $first: Int!, $skip: Int!) {
    asOf
    run(id: $id) { steps(first: $first, skip: $skip) { ...StepRow } }
  }
`,
  [StepFragment],
);

const ValueDocument = graphql(`
  query StepValue($id: ID!, $place: Int!) {
    asOf
    run(id: $id) { steps(first: 1, skip: $place) { label attempt value } }
  }
`);

type RunState = Parameters<typeof runActions>[0];

/** The run whose steps they are. */
export interface SteppedRun {
  readonly id: string;
  readonly state: RunState;
  readonly finishedAt: string | null;
  readonly retriedFrom: { readonly id: string } | null;
}

/** The steps of a run behind the first ones as they are, one more than are shown. */
export function useSteps(id: string, skip = 0): LiveResult<readonly StepRow[]> {
  return useLive(`steps/${id}/${skip}`, {
    document: StepsDocument,
    variables: () => ({ id, first: SHOWN + 1, skip }),
    init: (data): readonly StepRow[] => data.run?.steps ?? [],
    outdates: (event) => event.runId === id && (event.kind === "STEP_FINISHED" || event.kind === "RUN_UPDATED" || event.kind.startsWith("EXECUTION_")),
  });
}

/** The durable steps of a run: what it waits for, and all that was done, attempt over attempt. Nothing, for a run without any. */
export function Steps({ run }: { run: SteppedRun }) {
  const [skip, setSkip] = useState(0);
  const live = useSteps(run.id, skip);
  if (live.error === null && skip === 0 && (live.state === null || live.state.length === 0)) return null;
  return (
    <LivePart live={live} rows={3}>
      {(steps) => (
        <>
          {run.state === "SUSPENDED" && <Waits run={run} steps={steps} />}
          <Section title="Steps" aside={<StepPager skip={skip} count={steps.length} onSkip={setSkip} />}>
            <Waterfall run={run} steps={steps.slice(0, SHOWN)} skip={skip} />
          </Section>
        </>
      )}
    </LivePart>
  );
}

/** Which steps are shown of a run with more than fit. */
function StepPager({ skip, count, onSkip }: { skip: number; count: number; onSkip: (skip: number) => void }) {
  if (skip === 0 && count <= SHOWN) return null;
  return (
    <span class="step-pager">
      <button type="button" class="button small" disabled={skip === 0} onClick={() => onSkip(Math.max(0, skip - SHOWN))}>
        Earlier
      </button>
      <span class="dim num">
        {skip + 1} to {skip + Math.min(count, SHOWN)}
      </span>
      <button type="button" class="button small" disabled={count <= SHOWN} onClick={() => onSkip(skip + SHOWN)}>
        Later
      </button>
    </span>
  );
}

function Waterfall({ run, steps, skip }: { run: SteppedRun; steps: readonly StepRow[]; skip: number }) {
  const placeOf = new Map(steps.map((step, index) => [step, skip + index]));
  const isOpen = run.finishedAt === null && steps.some(({ finishedAt }) => finishedAt === null);
  // What is over is drawn once.
  const time = isOpen ? now.value : now.peek();
  return (
    <div class="waterfall">
      <div class="waterfall-grid">
        {waterfall(steps, time, run.finishedAt).map(({ attempt, steps: placed }) => (
          <section key={attempt} class="waterfall-attempt" aria-label={titleOf(attempt, run)}>
            <h3 class="waterfall-title">
              {attempt === 0 ? "Taken over" : `Attempt ${attempt}`}
              <span class="dim">
                {plural(placed.length, "step")}
                {attempt === 0 && run.retriedFrom !== null && (
                  <>
                    {" of "}
                    <a href={paths.run(run.retriedFrom.id)}>run {run.retriedFrom.id}</a>
                  </>
                )}
              </span>
            </h3>
            <ol class="steps">
              {placed.map((each) => (
                <StepLine key={`${each.step.label} ${each.step.startedAt}`} run={run} {...each} nth={placeOf.get(each.step) ?? 0} time={time} />
              ))}
            </ol>
          </section>
        ))}
      </div>
    </div>
  );
}

function titleOf(attempt: number, run: SteppedRun): string {
  return attempt === 0 ? `Steps of run ${run.retriedFrom?.id ?? "before"}` : `Steps of attempt ${attempt}`;
}

interface StepLineProps extends PlacedStep<StepRow> {
  run: SteppedRun;
  /** Its place among all steps of the run, from 0. */
  nth: number;
  time: number;
}

function StepLine({ run, step, place, isLast, nth, time }: StepLineProps) {
  const [open, setOpen] = useState(false);
  const hasMore = step.error !== null || (step.finishedAt !== null && step.state === "DONE");
  return (
    <li class="step">
      {hasMore ? (
        <button type="button" class="step-name link-button" aria-expanded={open} onClick={() => setOpen(!open)}>
          <Icon name={open ? "down" : "right"} />
          <span>{step.label}</span>
        </button>
      ) : (
        <span class="step-name">{step.label}</span>
      )}
      {place === null ? <span class="step-bar" /> : <Bar place={place} tone={statusView(step.state).tone} />}
      <span class="step-time num">
        <StepLength step={step} end={step.finishedAt ?? run.finishedAt} time={time} />
      </span>
      <span class="step-at dim num">
        <Time at={step.startedAt} form="moment" />
      </span>
      <span class="step-status">
        <Status name={step.state} />
        {!step.used && (
          <span class="dim" title="The attempt that ended well did not ask for it: the code has no such step any more">
            unused
          </span>
        )}
      </span>
      <span class="step-action">{isLast && runActions(run.state).retry && <RetryFrom run={run} label={step.label} />}</span>
      {open && (
        <div class="step-more">
          {step.error !== null && <p class="error-full">{step.error}</p>}
          {step.flowId !== null && <p>It began <a href={paths.flow(step.flowId)}>flow {step.flowId}</a>.</p>}
          {step.state === "DONE" && <StepValue run={run} step={step} nth={nth} />}
        </div>
      )}
    </li>
  );
}

function Bar({ place, tone }: { place: { readonly left: number; readonly width: number }; tone: string }) {
  const percent = (share: number): string => `${(share * 100).toFixed(2)}%`;
  return (
    <svg class="step-bar course-bar" width="100%" height="12" aria-hidden="true">
      <rect class={`course-fill course-${tone}`} x={percent(Math.min(place.left, 0.994))} width={percent(Math.max(place.width, 0.006))} height="12" rx="2" />
    </svg>
  );
}

function StepLength({ step, end, time }: { step: StepRow; end: string | null; time: number }) {
  const from = Date.parse(step.startedAt);
  if (end === null) return <span class="tone-active">{wholeDuration((time - from) / 1000)} so far</span>;
  return <>{duration((Date.parse(end) - from) / 1000)}</>;
}

/** What the step returned: asked for only when somebody looks. */
function StepValue({ run, step, nth }: { run: SteppedRun; step: StepRow; nth: number }) {
  const live = useLive(`step-values/${run.id}/${nth}/${step.label}/${step.attempt}`, {
    document: ValueDocument,
    variables: () => ({ id: run.id, place: nth }),
    init: (data) => ({ value: data.run?.steps.find(({ label, attempt }) => label === step.label && attempt === step.attempt)?.value ?? null }),
  });
  return (
    <LivePart live={live} rows={1}>
      {({ value }) => (value === null ? <p class="dim">It returned no value.</p> : <JsonView value={value} label={`Value of ${step.label}`} />)}
    </LivePart>
  );
}

/** Makes a new run that goes on from this step, and leads there. */
function RetryFrom({ run, label }: { run: SteppedRun; label: string }) {
  const retry = async (): Promise<void> => {
    const made = await retryRun(run.id, undefined, label);
    if (made !== null) navigate(paths.run(made));
  };
  return (
    <Action class="button small" title={`A new run, with the results of all steps that began before ${label}`} aria-label={`Retry from step ${label}`} onClick={() => void retry()}>
      <Icon name="retry" /> from here
    </Action>
  );
}
