import { useState } from "preact/hooks";
import type { UserError } from "../../api/mutate";
import { graphql } from "../../api/tada";
import { refusalText } from "../../lib/fault";
import { useLive } from "../../live/use-live";
import { EditTask } from "../../parts/dialogs";
import { updateTask } from "../../services/tasks";
import { Action } from "../../ui/action";
import { Dialog } from "../../ui/dialog";
import { LivePart } from "../../ui/live-part";
import { type LoadPoint, minuteOf, quieterSlots, tasksWord, withMinute } from "./model";

/** Slots that are offered, and times of the task that are looked at. */
const OFFERED = 5;
const TIMES = 24;

const MoveDocument = graphql(`
  query MoveTask($name: String!, $times: Int!) {
    asOf
    task(name: $name) {
      name
      version
      schedule { syntax value timezone humanized nextExecutions(count: $times) }
    }
  }
`);

interface MoveDialogProps {
  name: string;
  /** The load of each minute of a day. */
  points: readonly LoadPoint[];
  onClose: () => void;
}

/** Offers minutes of the hour in which less is due, and gives the task another one. */
export function MoveDialog({ name, points, onClose }: MoveDialogProps) {
  const [editing, setEditing] = useState(false);
  const live = useLive(`move/${name}`, {
    document: MoveDocument,
    variables: () => ({ name, times: TIMES }),
    init: ({ task }) => ({ task }),
  });
  if (editing) return <EditTask name={name} onClose={onClose} />;
  return (
    <Dialog title={`Move ${name}`} onClose={onClose}>
      <LivePart live={live} rows={4}>
        {({ task }) => {
          if (task === null) return <p>There is no task {name} any more.</p>;
          const { schedule, version } = task;
          const present = minuteOf(schedule.syntax, schedule.value);
          if (present === null)
            return (
              <>
                <p>
                  {schedule.humanized}: this names no single minute that could be another one. A start time, another
                  schedule or jitter spreads it.
                </p>
                <div class="form-actions">
                  <button type="button" class="button primary" onClick={() => setEditing(true)}>
                    Edit {name}
                  </button>
                </div>
              </>
            );
          return (
            <Slots
              name={name}
              version={version}
              schedule={schedule}
              present={present}
              points={points}
              onClose={onClose}
            />
          );
        }}
      </LivePart>
    </Dialog>
  );
}

interface SlotsProps extends MoveDialogProps {
  version: number;
  schedule: {
    readonly syntax: string;
    readonly value: string;
    readonly timezone: string;
    readonly nextExecutions: readonly string[];
  };
  present: number;
}

function Slots({ name, version, schedule, present, points, onClose }: SlotsProps) {
  const [first, ...others] = quieterSlots(points, schedule.nextExecutions, present, OFFERED);
  const [minute, setMinute] = useState(first?.minute ?? present);
  const [errors, setErrors] = useState<readonly UserError[]>([]);
  const save = async (): Promise<void> => {
    const { syntax, timezone } = schedule;
    const value = withMinute(schedule.value, minute);
    const refused = await updateTask({ name, schedule: { syntax, value, timezone } }, version);
    setErrors(refused);
    if (refused.length === 0) onClose();
  };
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <fieldset class="choices">
        <legend>Minute of the hour, now {present}</legend>
        {[first, ...others].flatMap((slot) =>
          slot === undefined
            ? []
            : [
                <label key={slot.minute} class="agenda-every">
                  <input
                    type="radio"
                    name="minute"
                    checked={slot.minute === minute}
                    onChange={() => setMinute(slot.minute)}
                  />{" "}
                  {slot.minute} <span class="dim">{tasksWord(slot.tasks)} then, at most</span>
                </label>,
              ],
        )}
      </fieldset>
      <p class="dim">
        Schedule: <code>{withMinute(schedule.value, minute)}</code>
      </p>
      {errors.map((error) => (
        <p key={error.message} class="field-error" role="alert">
          {refusalText(error)}
        </p>
      ))}
      <div class="form-actions">
        <button type="button" class="button" onClick={onClose}>
          Leave it
        </button>
        <Action type="submit" class="button primary">
          Move to minute {minute}
        </Action>
      </div>
    </form>
  );
}
