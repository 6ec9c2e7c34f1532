import { useEffect, useState } from "preact/hooks";
import { ExecutionRowFragment } from "../../api/fragments";
import { graphql, type ResultOf } from "../../api/tada";
import { integer, percent } from "../../lib/format";
import { paths } from "../../lib/paths";
import { duration } from "../../lib/time";
import { frozen, serverNow } from "../../live/clock";
import { setTitle } from "../../live/title";
import { useLive } from "../../live/use-live";
import { fillBuckets } from "../../model/chart";
import { fieldLabel } from "../../model/revisions";
import type { RevisionFilter, RevisionRow } from "../../parts/changes";
import { Changes } from "../../parts/dialogs";
import { ExecutionTable } from "../../parts/execution-table";
import { FailureGroupFragment, FailureGroups } from "../../parts/failure-groups";
import { Facts } from "../../parts/task-facts";
import { Action } from "../../ui/action";
import { Empty, ErrorBox, Skeleton } from "../../ui/feedback";
import { Icon } from "../../ui/icon";
import { Name } from "../../ui/name";
import { PageHead, Section } from "../../ui/section";
import { AlarmsOf } from "../alarms/lazy";
import { OutcomeCharts } from "../log/outcome-chart";
import { JobRate } from "./job-rate";
import { RunJob } from "./run-job";
import { type Mark, TrendChart } from "./trend-chart";

const DAYS = 30;
const DAY = 86_400_000;

const JobDocument = graphql(
  `
  query JobPage($name: String!, $from: DateTime!) {
    asOf
    serverTime
    job(name: $name) {
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
      tags
      slots
      codeVersion
      tasks(first: 50) { nodes { name group version } pageInfo { hasNextPage } }
      executions(first: 25, orderBy: [{ field: ID, direction: DESC }]) { nodes { ...ExecutionRow } }
    }
    statistics(jobName: $name, from: $from, bucket: DAY) {
      count
      failures
      records
      p50
      p95
      latenessP50
      latenessP95
      points { at count failures records p50 p95 }
    }
    failureGroups(jobName: $name, from: $from, first: 20) { ...FailureGroup }
  }
`,
  [ExecutionRowFragment, FailureGroupFragment],
);

type Answer = ResultOf<typeof JobDocument>;
type Job = NonNullable<Answer["job"]>;

function since(): number {
  return Math.floor(serverNow() / DAY) * DAY - (DAYS - 1) * DAY;
}

/** A job: how it went for 30 days, what was changed meanwhile, its errors, and where it runs. */
export function JobPage({ name }: { name: string }) {
  const { state, error, reload } = useLive(`job/${name}`, {
    document: JobDocument,
    variables: () => ({ name, from: new Date(since()).toISOString() }),
    init: (data): Answer => data,
    outdates: (event) =>
      (event.jobName === name && event.kind === "EXECUTION_FINISHED") || event.kind.startsWith("NODE_S"),
    every: 1_500,
  });
  useEffect(() => setTitle(name), [name]);
  if (state === null || state.job === null) {
    return (
      <>
        <PageHead title={name} />
        {error !== null ? (
          <ErrorBox error={error} retry={reload} />
        ) : state === null ? (
          <Skeleton rows={10} />
        ) : (
          <Empty title={`No node has published a job '${name}'`}>
            <a class="button" href="/jobs">
              All jobs
            </a>
          </Empty>
        )}
      </>
    );
  }
  return (
    <>
      <JobHead job={state.job} />
      {error !== null && <ErrorBox error={error} retry={reload} />}
      <div class={error === null && !frozen.value ? "" : "dimmed"}>
        <JobBody answer={state} job={state.job} changed={reload} />
      </div>
    </>
  );
}

function JobHead({ job }: { job: Job }) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <PageHead title={<Name text={job.name} />}>
        <Action class="button primary" onClick={() => setAsking(true)}>
          <Icon name="play" /> Run…
        </Action>
        <a class="button" href={paths.queueOfJob(job.name)}>
          Queue
        </a>
        <a class="button" href={paths.logOfJob(job.name)}>
          Log
        </a>
        <a class="button" href={`/tasks?new=1&job=${encodeURIComponent(job.name)}`}>
          <Icon name="plus" /> Task
        </a>
      </PageHead>
      <p class="page-sub dim" title={job.description}>
        <span class="page-sub-text">{job.description === "" ? "No description." : job.description}</span>
      </p>
      {asking && <RunJob job={job} onClose={() => setAsking(false)} />}
    </>
  );
}

const MARKED: Readonly<Record<string, string>> = { TASK: "Task", GROUP: "Group", JOB: "Job" };

/** Where the code, a task or a limit was changed in the time of the charts. */
function marksOf(revisions: readonly RevisionRow[], from: number): readonly Mark[] {
  return revisions
    .map(({ at, kind, name, actor, changes, isMade, isDeleted }) => {
      const fields = changes.map(({ field }) => fieldLabel(field)).slice(0, 3);
      const what = isMade ? "was made" : isDeleted ? "was deleted" : `was changed: ${fields.join(", ")}`;
      return { at: Date.parse(at), text: `${MARKED[kind]} ${name} ${what} (${actor})` };
    })
    .filter((mark) => mark.at >= from);
}

/** What may explain how a job goes: changes of itself, of its tasks, and of the groups of those. */
function filterOf(job: Job, from: number): RevisionFilter {
  const groups = [...new Set(job.tasks.nodes.map(({ group }) => group))];
  return {
    at: { gte: new Date(from).toISOString() },
    or: [
      { jobName: { eq: job.name } },
      ...(groups.length === 0 ? [] : [{ kind: { eq: "GROUP" as const }, name: { in: groups } }]),
    ],
  };
}

function seconds(value: number | null): string {
  return value === null ? "–" : duration(value);
}

function JobBody({ answer, job, changed }: { answer: Answer; job: Job; changed: () => void }) {
  const { statistics: figures, failureGroups } = answer;
  const from = since();
  const now = serverNow();
  const [revisions, setRevisions] = useState<readonly RevisionRow[]>([]);
  const marks = marksOf(revisions, from);
  return (
    <>
      <section class="panel task-strip" aria-label="30 days">
        <dl class="task-figures">
          <Figure name="Executions">{integer(figures.count)}</Figure>
          <Figure name="Failed">
            {figures.count === 0 ? "–" : `${integer(figures.failures)} (${percent(figures.failures / figures.count)})`}
          </Figure>
          <Figure name="Usually takes">{seconds(figures.p50)}</Figure>
          <Figure name="95 % within">{seconds(figures.p95)}</Figure>
          <Figure name="Starts late by">{seconds(figures.latenessP50)}</Figure>
          <Figure name="95 % late by at most">{seconds(figures.latenessP95)}</Figure>
        </dl>
      </section>
      <div class="columns">
        <Section title="Durations">
          <TrendChart
            title={`p50 and p95 by day, last ${DAYS} days`}
            points={figures.points}
            marks={marks}
            from={from}
            to={now}
          />
        </Section>
        <Section
          title="Errors"
          aside={<a href={`${paths.logOfJob(job.name)}&outcome=failures&range=30d`}>All failures</a>}
        >
          <FailureGroups
            groups={failureGroups}
            failures={figures.failures}
            within={`${DAYS} days`}
            range="30d"
            few={5}
          />
        </Section>
      </div>
      <AlarmsOf watched={[{ kind: "JOB", name: job.name }]} />
      <Section title="What changed">
        <Changes
          filter={filterOf(job, from)}
          versionOf={(kind, name) =>
            kind === "TASK" ? (job.tasks.nodes.find((task) => task.name === name)?.version ?? null) : null
          }
          within={`in the last ${DAYS} days`}
          onLoad={setRevisions}
        />
      </Section>
      <OutcomeCharts buckets={fillBuckets(figures.points, from, now, DAY)} of={`last ${DAYS} days`} />
      <Section title="Newest executions" aside={<a href={paths.logOfJob(job.name)}>All in the log</a>}>
        <ExecutionTable executions={job.executions.nodes} empty={<Empty title="It has not run yet" />} />
      </Section>
      <Section title="Facts">
        <JobFacts job={job} changed={changed} />
      </Section>
    </>
  );
}

function Figure({ name, children }: { name: string; children: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="num">{children}</dd>
    </div>
  );
}

function JobFacts({ job, changed }: { job: Job; changed: () => void }) {
  const { nodes: tasks, pageInfo } = job.tasks;
  return (
    <Facts
      entries={[
        [
          "Nodes",
          job.isKnown ? (
            <Links
              names={job.nodes}
              href={(node) => `/log?node=${encodeURIComponent(node)}&job=${encodeURIComponent(job.name)}`}
            />
          ) : (
            "no node takes it"
          ),
        ],
        [
          "Tasks",
          tasks.length === 0 ? (
            "none"
          ) : (
            <>
              <Links names={tasks.map((task) => task.name)} href={paths.task} />
              {pageInfo.hasNextPage && (
                <>
                  , <a href={`/tasks?q=${encodeURIComponent(job.name)}`}>all</a>
                </>
              )}
            </>
          ),
        ],
        ["Declared schedule", job.schedule === null ? "none" : <code>{job.schedule}</code>],
        ["Runs as", job.isolation.toLowerCase()],
        ...(job.slots === 1 ? [] : ([["Slots", `${job.slots} of a node, for each run`]] as const)),
        ...(job.codeVersion === null ? [] : ([["Version", job.codeVersion]] as const)),
        ...(job.limits?.rate == null ? [] : ([["Limit", <JobRate job={job} onChanged={changed} />]] as const)),
      ]}
    />
  );
}

function Links({ names, href }: { names: readonly string[]; href: (name: string) => string }) {
  return (
    <>
      {names.map((name, place) => (
        <span key={name}>
          {place > 0 && ", "}
          <a href={href(name)}>
            <Name text={name} />
          </a>
        </span>
      ))}
    </>
  );
}
