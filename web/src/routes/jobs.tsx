import { useEffect, useState } from "preact/hooks";
import { Command, Empty, ErrorBox, Skeleton } from "../components/feedback";
import { FilterBar, TextFilter } from "../components/filters";
import { Icon } from "../components/icon";
import { JsonView } from "../components/json-view";
import { RunWithArgs } from "../components/run-with-args";
import { PageHead } from "../components/section";
import { Status } from "../components/status";
import { graphql, type ResultOf } from "../graphql/tada";
import { argFields } from "../lib/args-schema";
import { paths } from "../lib/paths";
import { executionStatus } from "../lib/status";
import { quantile } from "../lib/strip";
import { duration } from "../lib/time";
import { useLive } from "../live/use-live";
import { triggerJob } from "../services/jobs";
import { searchParams, setParams } from "../state/route";
import { setTitle } from "../state/title";

const JobsDocument = graphql(`
  query JobsPage {
    asOf
    serverTime
    availableJobs {
      name
      description
      schedule
      isolation
      argsSchema
      known
      nodes
      tasks(first: 10) { nodes { name } pageInfo { hasNextPage } }
      executions(first: 20, orderBy: [{ field: ID, direction: DESC }]) {
        nodes { id outcome success completedAt duration }
      }
    }
  }
`);

type JobRow = ResultOf<typeof JobsDocument>["availableJobs"][number];

export function Jobs() {
  const params = searchParams.value;
  const { state, error, reload } = useLive("jobs", {
    document: JobsDocument,
    variables: {},
    init: (data) => data.availableJobs,
    outdates: (event) => event.kind === "EXECUTION_FINISHED" || event.kind.startsWith("NODE_S") || event.kind.startsWith("TASK_"),
    every: 4_000,
  });
  const [running, setRunning] = useState<JobRow | null>(null);
  useEffect(() => setTitle("Jobs"), []);
  const wanted = (params.get("job") ?? "").toLowerCase();
  const shown = (state ?? []).filter((job) => job.name.toLowerCase().includes(wanted));
  return (
    <>
      <PageHead title="Jobs" />
      <FilterBar>
        <TextFilter name="job" value={params.get("job") ?? ""} label="Name" main />
      </FilterBar>
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {state === null && error === null && <Skeleton rows={8} />}
      {state !== null && shown.length === 0 && <NoJobs any={state.length > 0} />}
      <div class={error === null ? "cards" : "cards dimmed"}>
        {shown.map((job) => (
          <JobCard key={job.name} job={job} run={() => setRunning(job)} />
        ))}
      </div>
      {running !== null && (
        <RunWithArgs
          title={`Run ${running.name}`}
          action="Run now"
          args={{}}
          schema={running.argsSchema}
          onClose={() => setRunning(null)}
          onRun={(args) => triggerJob(running.name, args)}
        />
      )}
    </>
  );
}

function JobCard({ job, run }: { job: JobRow; run: () => void }) {
  const fields = argFields(job.argsSchema);
  const last = job.executions.nodes[0];
  const spent = job.executions.nodes.flatMap((execution) => (execution.duration === null ? [] : [execution.duration]));
  const median = quantile(spent, 0.5);
  return (
    <article class="panel card" data-row tabIndex={-1} aria-label={job.name}>
      <div class="card-head">
        <h2>
          <a href={paths.logOfJob(job.name)} data-key="Enter">
            {job.name}
          </a>
        </h2>
        {last !== undefined && <Status name={executionStatus(last)} />}
      </div>
      <p class="dim card-text">{job.description === "" ? "No description." : job.description}</p>
      <dl class="pairs card-pairs">
        <div>
          <dt>Schedule</dt>
          <dd>{job.schedule === null ? "none declared" : <code>{job.schedule}</code>}</dd>
        </div>
        <div>
          <dt>Arguments</dt>
          <dd>
            {fields.length === 0 ? (
              "none"
            ) : (
              <details>
                <summary>{fields.map((field) => (field.required ? `${field.name}*` : field.name)).join(", ")}</summary>
                <JsonView value={job.argsSchema} label={`Schema of ${job.name}`} />
              </details>
            )}
          </dd>
        </div>
        <div>
          <dt>Tasks</dt>
          <dd>
            {job.tasks.nodes.length === 0
              ? "none"
              : job.tasks.nodes.map((task, index) => (
                  <span key={task.name}>
                    {index > 0 && ", "}
                    <a href={paths.task(task.name)}>{task.name}</a>
                  </span>
                ))}
            {job.tasks.pageInfo.hasNextPage && " …"}
          </dd>
        </div>
        <div>
          <dt>Nodes</dt>
          <dd>{job.known ? job.nodes.join(", ") : <Status name="NO_JOB" />}</dd>
        </div>
        <div>
          <dt>Runs as</dt>
          <dd>
            {job.isolation}
            {median !== null && `, usually ${duration(median)}`}
          </dd>
        </div>
      </dl>
      <div class="card-actions">
        <button type="button" class="button small" data-key="r" onClick={run}>
          <Icon name="play" /> Run…
        </button>
        <a class="button small" href={`/tasks?new=1&job=${encodeURIComponent(job.name)}`}>
          <Icon name="plus" /> Make a task
        </a>
      </div>
    </article>
  );
}

function NoJobs({ any }: { any: boolean }) {
  return any ? (
    <Empty title="No job of that name">
      <button type="button" class="button" onClick={() => setParams({ job: null })}>
        Show all
      </button>
    </Empty>
  ) : (
    <Empty title="No node has published a job">
      <p class="dim">Register functions with @job and name their module:</p>
      <Command text="cronograph serve --jobs my.module" />
    </Empty>
  );
}
