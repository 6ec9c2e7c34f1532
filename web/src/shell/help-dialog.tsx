import { Dialog } from "../ui/dialog";

const KEYS: readonly (readonly [string, string])[] = [
  ["Ctrl K", "Go to any page, task, job, group or run; do what the page offers"],
  ["g o", "Overview"],
  ["g t", "Tasks"],
  ["g r", "Runs"],
  ["g l", "Log"],
  ["g n", "Nodes"],
  ["g j, g f, g i, g m", "Jobs, flows, inbox, alarms"],
  ["g g, g s", "Groups, settings"],
  ["g e, g u, g a", "Secrets, users, audit"],
  ["g p, g x", "Account, explorer"],
  ["/", "Search or filter on this page"],
  ["j k", "Next or previous row"],
  ["x", "Select the row"],
  ["Enter", "Open the row"],
  ["r", "Run or retry the row"],
  ["c", "Cancel the row"],
  ["y", "Copy the name in the row"],
  ["?", "This help"],
  ["Esc", "Close what is open"],
];

const WORDS: readonly (readonly [string, string])[] = [
  ["Job", "named code that a node can run"],
  ["Task", "a stored schedule: which job, with which arguments, when"],
  ["Run", "one entry of the queue, with a state"],
  ["Execution", "one attempt at a run; the log has one row for each"],
  ["Occurrence", "one time at which a task was due: it became a run or was skipped for a reason"],
  ["Group", "the unit of fairness and of limits"],
  ["Node", "one running process"],
];

function List({ entries, code }: { entries: readonly (readonly [string, string])[]; code: boolean }) {
  return (
    <dl class="pairs">
      {entries.map(([term, text]) => (
        <div key={term}>
          <dt>{code ? <kbd>{term}</kbd> : term}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The keys of the dashboard and the words it uses. */
export function HelpDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys and words" onClose={onClose} wide>
      <div class="columns">
        <section>
          <h3>Keys</h3>
          <List entries={KEYS} code />
        </section>
        <section>
          <h3>Words</h3>
          <List entries={WORDS} code={false} />
        </section>
      </div>
    </Dialog>
  );
}
