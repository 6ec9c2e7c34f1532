import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { graphql } from "../../api/tada";
import { sameJson } from "../../lib/json";
import { paths } from "../../lib/paths";
import { useLive } from "../../live/use-live";
import { localInput, readTime } from "../../model/task-form";
import { RunWithArgs } from "../../parts/dialogs";
import { tryRetry } from "../../services/previews";
import { retryRunWith, updateRun } from "../../services/runs";
import { zone, zoneWord } from "../../state/prefs";
import { navigate } from "../../state/route";
import { ErrorBox } from "../../ui/feedback";
import { Field, TextInput } from "../../ui/field";

const SchemaDocument = graphql(`
  query ArgsSchemaOfJob($name: String!) {
    asOf
    job(name: $name) { argsSchema }
  }
`);

interface Repeatable {
  readonly id: string;
  readonly jobName: string;
  readonly args: unknown;
}

interface Editable extends Repeatable {
  readonly availableAt: string;
  readonly attempt: number;
}

/** Asks when a run that waits shall be due, and for other arguments as long as it has not begun. */
export function EditRun({ run, onClose }: { run: Editable; onClose: () => void }) {
  // The seconds are enough to be edited; the time is sent only if they were.
  const [before] = useState(() => localInput(run.availableAt, zone.value));
  const [at, setAt] = useState(before);
  return (
    <WithSchema jobName={run.jobName}>
      {(schema) => (
        <RunWithArgs
          title={`Change run ${run.id}`}
          action="Save"
          args={run.args}
          schema={schema}
          fixed={run.attempt > 0 ? "It has begun before, and keeps the arguments of its executions." : undefined}
          onClose={onClose}
          onRun={(args) =>
            updateRun({
              id: run.id,
              ...(at !== before && { runAt: at === "" ? null : readTime(at, zone.value) }),
              ...(run.attempt === 0 && !sameJson(args, run.args) && { args }),
            })
          }
        >
          <Field label={`Not before (${zoneWord()})`} hint="Empty = now">
            <TextInput value={at} onChange={setAt} type="datetime-local" />
          </Field>
        </RunWithArgs>
      )}
    </WithSchema>
  );
}

/** Asks for other arguments, and leads to the run that is made. */
export function RunAgain({ run, onClose }: { run: Repeatable; onClose: () => void }) {
  return (
    <WithSchema jobName={run.jobName}>
      {(schema) => (
        <RunWithArgs
          title={`Run ${run.jobName} again`}
          action="Run again"
          args={run.args}
          schema={schema}
          onClose={onClose}
          onTry={(args) => tryRetry(run.id, args)}
          onRun={async (args) => {
            const made = await retryRunWith(run.id, args);
            if (!made.ok) return made.errors;
            navigate(paths.run(made.value));
            return true;
          }}
        />
      )}
    </WithSchema>
  );
}

/** Shows what needs the schema of a job's arguments, once it is there. */
function WithSchema({ jobName, children }: { jobName: string; children: (schema: unknown) => ComponentChildren }) {
  const { state, error, reload } = useLive(`schema/${jobName}`, {
    document: SchemaDocument,
    variables: () => ({ name: jobName }),
    init: (data) => ({ schema: data.job?.argsSchema ?? null }),
  });
  if (error !== null) return <ErrorBox error={error} retry={reload} />;
  return state === null ? null : <>{children(state.schema)}</>;
}
