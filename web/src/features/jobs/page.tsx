import { useEffect, useMemo, useState } from "preact/hooks";
import { graphql, type ResultOf } from "../../api/tada";
import { argFields } from "../../lib/args-schema";
import { plural } from "../../lib/format";
import { paths } from "../../lib/paths";
import { executionStatus } from "../../lib/status";
import { quantile } from "../../lib/strip";
import { duration } from "../../lib/time";
import { setTitle } from "../../live/title";
import { useLive } from "../../live/use-live";
import { ListTools } from "../../parts/list-tools";
import { searchParams, setParams } from "../../state/route";
import { Action } from "../../ui/action";
import { type Column, DataTable } from "../../ui/data-table";
import { Command, Empty, ErrorBox, Skeleton } from "../../ui/feedback";
import { Icon } from "../../ui/icon";
import { JsonView } from "../../ui/json-view";
import { Name } from "../../ui/name";
import { PageHead } from "../../ui/section";
import { Status } from "../../ui/status";
import { SearchBar } from "../search/bar";
import type { Vocabulary } from "../search/model";
import { JobRate } from "./job-rate";
import { RunJob } from "./run-job";

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
      uniqueKey { arguments template isInCode }
      declaredRate { limit per burst }
      limits { rate { limit per burst } }
      isKnown
      nodes
      tasks(first: 4) { nodes { name } pageInfo { hasNextPage } }
      executions(first: 20, orderBy: [{ field: ID, direction: DESC }]) {
        nodes { id outcome success completedAt duration }
      }
    }
  }
`);

type JobRow = ResultOf<typeof JobsDocument>["availableJobs"][number];

interface JobContext {
  run(job: JobRow): void;
  changed(): void;
}

const COLUMNS: readonly Column<JobRow, JobContext>[] = [
  {
    key: "name",
    title: "Job",
    width: 220,
    grow: 3,
    rank: 0,
    card: "title",
    name: ({ name }) => name,
    cell: (job, context) => (
      <>
        <NameOf job={job} />
        <JobRate job={job} onChanged={context.changed} />
      </>
    ),
  },
  {
    key: "arguments",
    title: "Arguments",
    width: 150,
    grow: 1,
    rank: 3,
    card: "wide",
    cell: (job) => <Arguments job={job} />,
  },
  {
    key: "schedule",
    title: "Declared schedule",
    width: 150,
    rank: 4,
    card: "wide",
    cell: (job) => (job.schedule === null ? "none" : <code>{job.schedule}</code>),
  },
  { key: "tasks", title: "Tasks", width: 150, grow: 1, rank: 2, card: "wide", cell: (job) => <Tasks job={job} /> },
  {
    key: "nodes",
    title: "Nodes",
    width: 120,
    rank: 1,
    card: "pair",
    cell: (job) =>
      job.isKnown ? (
        <span title={job.nodes.join(", ")}>{plural(job.nodes.length, "node")}</span>
      ) : (
        <Status name="NO_JOB" />
      ),
  },
  {
    key: "usually",
    title: "Usually",
    width: 96,
    rank: 5,
    card: "pair",
    number: true,
    cell: (job) => <Usual job={job} />,
  },
  {
    key: "isolation",
    title: "Runs as",
    width: 96,
    rank: 6,
    card: "pair",
    cell: (job) => <span class="dim">{job.isolation.toLowerCase()}</span>,
  },
  { key: "last", title: "Last", width: 124, rank: 1, card: "pair", cell: (job) => <Last job={job} /> },
  {
    key: "actions",
    title: "Actions",
    untitled: true,
    width: 262,
    rank: 0,
    card: "wide",
    bare: true,
    cell: (job, context) => <JobButtons job={job} context={context} />,
  },
];

function NameOf({ job }: { job: JobRow }) {
  return (
    <>
      <a class="row-main" href={paths.job(job.name)} data-key="Enter">
        <Name text={job.name} />
      </a>{" "}
      <span class="dim cell-sub">{job.description === "" ? "No description." : job.description}</span>
    </>
  );
}

function Arguments({ job }: { job: JobRow }) {
  const fields = argFields(job.argsSchema);
  if (fields.length === 0) return <span class="dim">none</span>;
  return (
    <details>
      <summary>{fields.map((field) => (field.required ? `${field.name}*` : field.name)).join(", ")}</summary>
      <JsonView value={job.argsSchema} label={`Schema of ${job.name}`} />
    </details>
  );
}

function Tasks({ job }: { job: JobRow }) {
  if (job.tasks.nodes.length === 0) return <span class="dim">none</span>;
  return (
    <>
      {job.tasks.nodes.map((task, index) => (
        <span key={task.name}>
          {index > 0 && ", "}
          <a href={paths.task(task.name)}>
            <Name text={task.name} />
          </a>
        </span>
      ))}
      {job.tasks.pageInfo.hasNextPage && (
        <>
          , <a href={`/tasks?q=${encodeURIComponent(job.name)}`}>all</a>
        </>
      )}
    </>
  );
}

function Usual({ job }: { job: JobRow }) {
  const median = quantile(
    job.executions.nodes.flatMap((execution) => execution.duration ?? []),
    0.5,
  );
  return <span title="Median of the last twenty">{median === null ? "–" : duration(median)}</span>;
}

function Last({ job }: { job: JobRow }) {
  const last = job.executions.nodes[0];
  return last === undefined ? (
    <span class="dim">never</span>
  ) : (
    <a class="plain" href={paths.execution(last.id)}>
      <Status name={executionStatus(last)} />
    </a>
  );
}

function JobButtons({ job, context }: { job: JobRow; context: JobContext }) {
  return (
    <span class="row-actions spaced">
      <Action class="button small" data-key="r" aria-label={`Run ${job.name}…`} onClick={() => context.run(job)}>
        <Icon name="play" /> Run…
      </Action>
      <a
        class="button small"
        href={paths.queueOfJob(job.name)}
        aria-label={`Queue of ${job.name}`}
        title="What waits and runs, and how it went over time"
      >
        Queue
      </a>
      <a
        class="button small"
        href={`/tasks?new=1&job=${encodeURIComponent(job.name)}`}
        aria-label={`New task of ${job.name}`}
        title="Make a task of this job"
      >
        <Icon name="plus" /> Task
      </a>
    </span>
  );
}

const SEARCH: Vocabulary = { label: "Name or description", param: "job", terms: [] };

export function Jobs() {
  const params = searchParams.value;
  const { state, error, reload } = useLive("jobs", {
    document: JobsDocument,
    variables: () => ({}),
    init: (data) => data.availableJobs,
    outdates: (event) =>
      event.kind === "EXECUTION_FINISHED" || event.kind.startsWith("NODE_S") || event.kind.startsWith("TASK_"),
    every: 1_500,
  });
  const [running, setRunning] = useState<JobRow | null>(null);
  useEffect(() => setTitle("Jobs"), []);
  const context = useMemo((): JobContext => ({ run: setRunning, changed: reload }), [reload]);
  const wanted = params.get("job") ?? "";
  const shown = (state ?? []).filter((job) =>
    `${job.name} ${job.description}`.toLowerCase().includes(wanted.toLowerCase()),
  );
  return (
    <>
      <PageHead title="Jobs" />
      <SearchBar vocabulary={SEARCH}>
        {state !== null && <span class="dim num filter-count">{plural(shown.length, "job")}</span>}
        <ListTools table="jobs" columns={COLUMNS} rows={state === null ? null : shown} />
      </SearchBar>
      {error !== null && <ErrorBox error={error} retry={reload} />}
      {state === null && error === null && <Skeleton rows={8} />}
      {state !== null && (
        <section class={error === null ? "panel" : "panel dimmed"} aria-label="Jobs">
          {shown.length === 0 ? (
            <NoJobs any={state.length > 0} />
          ) : (
            <DataTable
              id="jobs"
              columns={COLUMNS}
              context={context}
              rows={shown}
              page={wanted}
              rowId={(job) => job.name}
            />
          )}
        </section>
      )}
      {running !== null && <RunJob job={running} onClose={() => setRunning(null)} />}
    </>
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
