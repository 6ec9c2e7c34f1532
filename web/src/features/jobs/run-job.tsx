import type { UserError } from "../../api/mutate";
import { RunWithArgs } from "../../parts/dialogs";
import { useResources } from "../../parts/resources-field";
import { triggerJob } from "../../services/jobs";
import { tryJob } from "../../services/previews";

interface RunnableJob {
  readonly name: string;
  readonly argsSchema: unknown;
  readonly isolation: string;
  readonly uniqueKey: {
    readonly arguments: readonly string[];
    readonly template: string | null;
    readonly isInCode: boolean;
  } | null;
}

/** Asks for the arguments of a job, and runs it. */
export function RunJob({ job, onClose }: { job: RunnableJob; onClose: () => void }) {
  const { field, sent } = useResources(job.isolation);
  return (
    <RunWithArgs
      title={`Run ${job.name}`}
      action="Run now"
      args={{}}
      schema={job.argsSchema}
      onClose={onClose}
      onRun={(args) => sent<boolean | readonly UserError[]>((needed) => triggerJob(job.name, args, needed), false)}
      onTry={(args) => sent((needed) => tryJob(job.name, args, needed), null)}
    >
      {field}
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
