import { useEffect, useState } from "preact/hooks";
import { plural } from "../../lib/format";
import { countRunsOfDeletion, deleteTask } from "../../services/tasks";
import { Confirm } from "../../ui/confirm";

interface DeleteTaskProps {
  name: string;
  onClose: () => void;
  onDeleted: () => void;
}

/** Says what goes with a task, counted by the server, then deletes it. */
export function DeleteTask({ name, onClose, onDeleted }: DeleteTaskProps) {
  const [runs, setRuns] = useState<number | null>(null);
  useEffect(() => {
    void countRunsOfDeletion(name).then(setRuns);
  }, [name]);
  return (
    <Confirm
      title={`Delete ${name}?`}
      action="Delete the task"
      danger
      onClose={onClose}
      onConfirm={async () => {
        if (await deleteTask(name)) onDeleted();
        onClose();
      }}
    >
      <p>
        Its schedule is gone for good; its executions stay in{" "}
        <a href={`/log?task=${encodeURIComponent(name)}`}>the log</a>. To stop it for a while, pause it instead.
      </p>
      {runs !== null && runs > 0 && (
        <p>
          With it, <strong class="num">{plural(runs, "unfinished run")}</strong> will be cancelled.
        </p>
      )}
    </Confirm>
  );
}
