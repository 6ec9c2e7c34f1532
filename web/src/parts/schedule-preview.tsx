import { useEffect, useState } from "preact/hooks";
import { isAtZone, splitAtFault, withoutField } from "../lib/fault";
import { namesZone } from "../lib/time";
import { scheduleInput, type TaskForm } from "../model/task-form";
import { FORESEEN, type Validation, validateSchedule } from "../services/schedule";
import { Icon } from "../ui/icon";
import { CalendarStrip } from "./calendar-strip";
import { NextTimes } from "./next-times";

const TYPING_PAUSE = 180;
/** Times that are written out; all of them lie on the strip. */
const LISTED = 3;

interface Preview {
  /** The schedule that the answer is about. */
  readonly value: string;
  readonly answer: Validation | null;
  readonly failure: string | null;
}

/** Asks the server what it thinks of the schedule whenever typing pauses; the last question wins. */
export function useSchedulePreview(form: TaskForm): Preview | null {
  const [preview, setPreview] = useState<Preview | null>(null);
  const { syntax, value, timezone } = scheduleInput(form);
  useEffect(() => {
    if (value === "") {
      setPreview(null);
      return undefined;
    }
    const controller = new AbortController();
    const timer = window.setTimeout(() => {
      validateSchedule({ syntax, value, timezone }, controller.signal).then(
        (answer) => setPreview({ value, answer, failure: null }),
        (error: unknown) => {
          if (!controller.signal.aborted)
            setPreview({ value, answer: null, failure: error instanceof Error ? error.message : String(error) });
        },
      );
    }, TYPING_PAUSE);
    return () => {
      window.clearTimeout(timer);
      controller.abort();
    };
  }, [syntax, value, timezone]);
  return preview;
}

interface SchedulePreviewProps {
  preview: Preview | null;
  timezone: string;
  /** Puts a suggestion into the form. */
  onUse: (value: string) => void;
}

/**
 * The sentence and the next times from the server, or the fault at its place with what to write instead; always as
 * high, so that nothing jumps while one types.
 */
export function SchedulePreview(props: SchedulePreviewProps) {
  return (
    <div class="preview-slot">
      <PreviewContent {...props} />
    </div>
  );
}

function PreviewContent({ preview, timezone, onUse }: SchedulePreviewProps) {
  if (preview === null) return <p class="field-hint">The sentence and the next times show here while you type.</p>;
  const { value, answer, failure } = preview;
  if (answer === null) return <p class="field-error">The schedule could not be checked: {failure}</p>;
  if (answer.error !== null && isAtZone(answer.error))
    return <Suggestion better={answer.error.suggestion} onUse={onUse} />;
  if (answer.error !== null) return <FaultView value={value} fault={answer.error} onUse={onUse} />;
  return (
    <div class="preview" aria-live="polite">
      <p class="preview-sentence">
        <Icon name="check" /> {answer.humanized}{" "}
        {!namesZone(answer.humanized, timezone) && <span class="zone-tag">{timezone || "UTC"}</span>}
      </p>
      <CalendarStrip times={answer.nextExecutions} timezone={timezone} cut={answer.nextExecutions.length >= FORESEEN} />
      <NextTimes times={answer.nextExecutions.slice(0, LISTED)} timezone={timezone} />
    </div>
  );
}

function FaultView({
  value,
  fault,
  onUse,
}: {
  value: string;
  fault: NonNullable<Validation["error"]>;
  onUse: (value: string) => void;
}) {
  const [before, at, after] = splitAtFault(value, fault.position);
  return (
    <div class="fault" role="alert" id="schedule-fault">
      {fault.position !== null && (
        <code class="fault-line">
          {before}
          <mark>{at === "" ? "\u00a0" : at}</mark>
          {after}
        </code>
      )}
      <p class="field-error">{withoutField(fault.message, "value")}</p>
      <Suggestion better={fault.corrected} onUse={onUse} />
    </div>
  );
}

function Suggestion({ better, onUse }: { better: string | null; onUse: (value: string) => void }) {
  if (better === null) return null;
  return (
    <button type="button" class="button small" onClick={() => onUse(better)}>
      Use <code>{better}</code>
    </button>
  );
}
