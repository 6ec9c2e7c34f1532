import { useState } from "preact/hooks";
import type { StepRow } from "../../api/step";
import { graphql } from "../../api/tada";
import { paths } from "../../lib/paths";
import { statusView } from "../../lib/status";
import { useLive } from "../../live/use-live";
import { runActions } from "../../model/run-filter";
import { retryRun } from "../../services/runs";
import { STEPS_SHOWN, type Steps } from "../../services/steps";
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
  query StepValue($id: ID!, $after: String) {
    asOf
    run(id: $id) { steps(first: 1, after: $after) { nodes { label attempt value } } }
  }
`);

interface StepPagerProps {
  /** The cursors behind which the pages up to this one begin, apart from the first page. */
  pages: readonly string[];
  steps: Steps | null;
  onTurn: (pages: readonly string[]) => void;
}

/** Which steps are shown of a run with more than fit. */
export function StepPager({ pages, steps, onTurn }: StepPagerProps) {
  const last = steps?.hasMore === true ? steps.cursors.at(-1) : undefined;
  if (pages.length === 0 && last === undefined) return null;
  const skipped = pages.length * STEPS_SHOWN;
  return (
    <span class="step-pager">
      <Button
        class="button small"
        reason={pages.length === 0 ? "These are the first steps" : null}
        onClick={() => onTurn(pages.slice(0, -1))}
      >
        Earlier
      </Button>
      <span class="dim num">
        steps {skipped + 1} to {skipped + (steps?.rows.length ?? 0)}
      </span>
      <Button
        class="button small"
        reason={last === undefined ? "These are the last steps" : null}
        onClick={() => onTurn(last === undefined ? pages : [...pages, last])}
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
  /** The cursor of the step in front of it; null for the first step of the run. */
  previous: string | null;
  time: number;
}

/** A step in the waterfall, with its value or its error if one wants to see it. */
export function StepLine({ run, step, frame, previous, time }: StepLineProps) {
  const [open, setOpen] = useState(false);
  const hasMore = step.error !== null || (step.finishedAt !== null && step.state === "DONE");
  const span = spanOf(step, run.finishedAt);
  return (
    <li class="step">
      {hasMore ? (
        <button type="button" class="step-name link-button" aria-expanded={open} onClick={() => setOpen(!open)}>
          <Icon name={open ? "down" : "right"} /> <span>{step.label}</span>
        </button>
      ) : (
        <span class="step-name">{step.label}</span>
      )}
      <Bar place={span === null ? null : placeIn(frame, span, time)} tone={statusView(step.state).tone} />{" "}
      <span class="course-time num">
        <Length from={Date.parse(step.startedAt)} to={endOf(step, run.finishedAt)} time={time} />
      </span>{" "}
      <span class="course-at dim num">
        <Time at={step.startedAt} form="moment" />
      </span>{" "}
      <span class="step-status">
        <Status name={step.state} />
        {!step.isUsed && (
          <span class="dim" title="The attempt that ended well did not ask for it: the code has no such step any more">
            unused
          </span>
        )}
      </span>{" "}
      <span class="step-action">
        {step.isLatest && runActions(run.state).retry && <RetryFrom run={run} label={step.label} />}
      </span>{" "}
      {open && (
        <div class="step-more">
          {step.error !== null && <p class="error-full">{step.error}</p>}
          {step.flowId !== null && (
            <p>
              It began <a href={paths.flow(step.flowId)}>flow {step.flowId}</a>.
            </p>
          )}{" "}
          {step.cleanupJobName !== null && <p class="dim">A run of {step.cleanupJobName} undoes it.</p>}
          {step.state === "DONE" && <StepValue run={run} step={step} previous={previous} />}
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
function StepValue({ run, step, previous }: { run: RunDetail; step: StepRow; previous: string | null }) {
  const live = useLive(`step-values/${run.id}/${previous ?? ""}/${step.label}/${step.attempt}`, {
    document: ValueDocument,
    variables: () => ({ id: run.id, after: previous }),
    init: (data) => ({
      value:
        data.run?.steps.nodes.find(({ label, attempt }) => label === step.label && attempt === step.attempt)?.value ??
        null,
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
