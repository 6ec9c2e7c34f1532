import { RunWithArgs } from "../../parts/dialogs";
import { triggerJob } from "../../services/jobs";
import { tryJob } from "../../services/previews";

interface RunnableJob {
  readonly name: string;
  readonly argsSchema: unknown;
  readonly uniqueKey: {
    readonly arguments: readonly string[];
    readonly template: string | null;
    readonly isInCode: boolean;
  } | null;
}

/** Asks for the arguments of a job, and runs it. */
export function RunJob({ job, onClose }: { job: RunnableJob; onClose: () => void }) {
  return (
    <RunWithArgs
      title={`Run ${job.name}`}
      action="Run now"
      args={{}}
      schema={job.argsSchema}
      onClose={onClose}
      onRun={(args) => triggerJob(job.name, args)}
      onTry={(args) => tryJob(job.name, args)}
    >
      <UniqueKeyNote uniqueKey={job.uniqueKey} />
    </RunWithArgs>
  );
}

/** Says what a second click does. */
function UniqueKeyNote({ uniqueKey }: { uniqueKey: RunnableJob["uniqueKey"] }) {
  if (uniqueKey === null) return null;
  if (uniqueKey.isInCode)
    return <p class="dim">Only the job’s own code can make its unique key. A run that you make here has none.</p>;
  const made = uniqueKey.template ?? (uniqueKey.arguments.join(", ") || "the job’s name");
  return (
    <p class="dim">
      Unique by <code>{made}</code>: while such a run is unfinished, no second one is made.
    </p>
  );
}
