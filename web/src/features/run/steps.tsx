import { useState } from "preact/hooks";
import type { StepRow } from "../../api/step";
import { graphql } from "../../api/tada";
import { paths } from "../../lib/paths";
import { statusView } from "../../lib/status";
import { useLive } from "../../live/use-live";
import { runActions } from "../../model/run-filter";
import { retryRun } from "../../services/runs";
import { STEPS_SHOWN } from "../../services/steps";
import { navigate } from "../../state/route";
import { Action, Button } from "../../ui/action";
import { Icon } from "../../ui/icon";
import { JsonView } from "../../ui/json-view";
import { LivePart } from "../../ui/live-part";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";
import { Bar, Length } from "./bar";
import { type Frame, placeIn } from "./course";
import type { RunDetail } from "./document";
import { spanOf } from "./waterfall";

const ValueDocument = graphql(`
  query StepValue($id: ID!, $place: Int!) {
    asOf
    run(id: $id) { steps(first: 1, skip: $place) { label attempt value } }
  }
`);

/** Which steps are shown of a run with more than fit. */
export function StepPager({ skip, count, onSkip }: { skip: number; count: number; onSkip: (skip: number) => void }) {
  if (skip === 0 && count <= STEPS_SHOWN) return null;
  return (
    <span class="step-pager">
      <Button
        class="button small"
        reason={skip === 0 ? "These are the first steps" : null}
        onClick={() => onSkip(Math.max(0, skip - STEPS_SHOWN))}
      >
        Earlier
      </Button>
      <span class="dim num">
        steps {skip + 1} to {skip + Math.min(count, STEPS_SHOWN)}
      </span>
      <Button
        class="button small"
        reason={count <= STEPS_SHOWN ? "These are the last steps" : null}
        onClick={() => onSkip(skip + STEPS_SHOWN)}
      >
        Later
      </Button>
    </span>
  );
}

interface StepLineProps {
  run: RunDetail;
  step: StepRow;
  frame: Frame;
  /** Its place among all steps of the run, from 0. */
  nth: number;
  time: number;
}

/** A step in the waterfall, with its value or its error if one wants to see it. */
export function StepLine({ run, step, frame, nth, time }: StepLineProps) {
  const [open, setOpen] = useState(false);
  const hasMore = step.error !== null || (step.finishedAt !== null && step.state === "DONE");
  const span = spanOf(step, run.finishedAt);
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
      <Bar place={span === null ? null : placeIn(frame, span, time)} tone={statusView(step.state).tone} />
      <span class="course-time num">
        <Length from={Date.parse(step.startedAt)} to={endOf(step, run.finishedAt)} time={time} />
      </span>
      <span class="course-at dim num">
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
      <span class="step-action">
        {step.latest && runActions(run.state).retry && <RetryFrom run={run} label={step.label} />}
      </span>
      {open && (
        <div class="step-more">
          {step.error !== null && <p class="error-full">{step.error}</p>}
          {step.flowId !== null && (
            <p>
              It began <a href={paths.flow(step.flowId)}>flow {step.flowId}</a>.
            </p>
          )}
          {step.state === "DONE" && <StepValue run={run} step={step} nth={nth} />}
        </div>
      )}
    </li>
  );
}

function endOf({ finishedAt }: StepRow, over: string | null): number | null {
  const end = finishedAt ?? over;
  return end === null ? null : Date.parse(end);
}

/** What the step returned: asked for only when somebody looks. */
function StepValue({ run, step, nth }: { run: RunDetail; step: StepRow; nth: number }) {
  const live = useLive(`step-values/${run.id}/${nth}/${step.label}/${step.attempt}`, {
    document: ValueDocument,
    variables: () => ({ id: run.id, place: nth }),
    init: (data) => ({
      value:
        data.run?.steps.find(({ label, attempt }) => label === step.label && attempt === step.attempt)?.value ?? null,
    }),
  });
  return (
    <LivePart live={live} rows={1}>
      {({ value }) =>
        value === null ? (
          <p class="dim">It returned no value.</p>
        ) : (
          <JsonView value={value} label={`Value of ${step.label}`} />
        )
      }
    </LivePart>
  );
}

/** Makes a new run that goes on from this step, and leads there. */
function RetryFrom({ run, label }: { run: RunDetail; label: string }) {
  const retry = async (): Promise<void> => {
    const made = await retryRun(run.id, label);
    if (made !== null) navigate(paths.run(made));
  };
  return (
    <Action
      class="button small"
      title={`A new run, with the results of all steps that began before ${label}`}
      aria-label={`Retry from step ${label}`}
      onClick={() => void retry()}
    >
      <Icon name="retry" /> from here
    </Action>
  );
}
