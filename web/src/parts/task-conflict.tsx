import type { Change, Choice, Choices } from "../model/merge";

interface TaskConflictProps {
  changes: readonly Change[];
  choices: Choices;
  /** The form was sent without a choice: which are missing is marked. */
  asked: boolean;
  onChoose: (choices: Choices) => void;
}

/** Somebody else has saved the task that is being edited: what is typed and what is saved, side by side. */
export function TaskConflict({ changes, choices, asked, onChoose }: TaskConflictProps) {
  const contested = changes.filter(({ mine }) => mine !== null);
  const all = (choice: Choice): void => onChoose(Object.fromEntries(contested.map(({ label }) => [label, choice])));
  return (
    <section class="conflict" aria-label="Saved by somebody else">
      <p role="alert">
        <strong>Somebody else has saved this task.</strong>{" "}
        {contested.length === 0
          ? "None of your changes is affected; the form has theirs, too."
          : "Both of you have changed the same: choose which to keep."}
      </p>
      <div class="table-scroll">
        <table class="conflict-table">
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Yours</th>
              <th scope="col">Theirs</th>
            </tr>
          </thead>
          <tbody>
            {changes.map((change) => (
              <Row
                key={change.label}
                change={change}
                choice={choices[change.label]}
                asked={asked}
                onChoose={(choice) => onChoose({ ...choices, [change.label]: choice })}
              />
            ))}
          </tbody>
        </table>
      </div>
      {contested.length > 1 && (
        <div class="form-actions">
          <button type="button" class="button small" onClick={() => all("mine")}>
            Keep all of mine
          </button>
          <button type="button" class="button small" onClick={() => all("theirs")}>
            Take all of theirs
          </button>
        </div>
      )}
    </section>
  );
}

interface RowProps {
  change: Change;
  choice: Choice | undefined;
  asked: boolean;
  onChoose: (choice: Choice) => void;
}

function Row({ change: { label, before, mine, theirs }, choice, asked, onChoose }: RowProps) {
  return (
    <tr>
      <th scope="row">{label}</th>
      {mine === null ? (
        <>
          <td class="dim">
            not changed: <code>{before === "" ? "none" : before}</code>
          </td>
          <td>
            <code>{theirs === "" ? "none" : theirs}</code>
          </td>
        </>
      ) : (
        [["mine", mine, "Keep mine"] as const, ["theirs", theirs, "Take theirs"] as const].map(([side, text, word]) => (
          <td key={side}>
            <label class="conflict-choice">
              <input
                type="radio"
                name={`conflict ${label}`}
                aria-label={`${word}: ${label}`}
                checked={choice === side}
                data-invalid={asked && choice === undefined ? "true" : undefined}
                onChange={() => onChoose(side)}
              />
              <code>{text === "" ? "none" : text}</code>
            </label>
          </td>
        ))
      )}
    </tr>
  );
}
