import { useEffect, useState } from "preact/hooks";
import type { UserError } from "../../api/mutate";
import { type TaskDetail, TaskDocument } from "../../api/task-page";
import { integer, plural } from "../../lib/format";
import { isEmptyObject } from "../../lib/json";
import { paths } from "../../lib/paths";
import { executionStatus, taskStatus } from "../../lib/status";
import { stripOccurrences } from "../../lib/strip";
import { inZone } from "../../lib/time";
import { frozen, serverNow } from "../../live/clock";
import { setTitle } from "../../live/title";
import { useLive } from "../../live/use-live";
import { whyNot } from "../../live/viewer";
import { streakOf } from "../../model/attention";
import { isFailure } from "../../model/log-filter";
import { CalendarStrip } from "../../parts/calendar-strip";
import { Changes, DuplicateTask, EditTask, PauseDialog, RunWithArgs } from "../../parts/dialogs";
import { ExecutionTable } from "../../parts/execution-table";
import { ExplanationView } from "../../parts/explanation";
import { UnknownValue } from "../../parts/filters";
import { NextTimes } from "../../parts/next-times";
import { useResources } from "../../parts/resources-field";
import { RunTable } from "../../parts/run-table";
import { TaskFacts } from "../../parts/task-facts";
import { tryTask } from "../../services/previews";
import { pauseTasks, resetTask, resumeTasks, runTask, runTaskWith } from "../../services/tasks";
import { pendingRuns, stillPending } from "../../state/pending";
import { zone } from "../../state/prefs";
import { navigate, searchParams, setParams } from "../../state/route";
import { Action } from "../../ui/action";
import { Empty, ErrorBox, Skeleton } from "../../ui/feedback";
import { Icon } from "../../ui/icon";
import { JsonView } from "../../ui/json-view";
import { Name } from "../../ui/name";
import { PageHead, Section } from "../../ui/section";
import { Status } from "../../ui/status";
import { Time } from "../../ui/time";
import { usePhone } from "../../ui/use-phone";
import { useFiring } from "../alarms/firing";
import { AlarmsOf } from "../alarms/lazy";
import { TimelinePart } from "../timeline/part";
import { DeleteTask } from "./delete-task";
import { DurationChart } from "./duration-chart";
import { HeatMap } from "./heat-map";
import { policySentences } from "./policies";
import { RecordsChart } from "./records-chart";
import { SkippedTable } from "./skipped-table";
import { Strip } from "./strip";

interface State {
  /** Null when there is no such task. */
  readonly task: TaskDetail | null;
}

/** So many times the question asks for: there may be more. */
const FORESEEN = 10;

type Asking = "pause" | "edit" | "duplicate" | "delete" | "run" | null;

export function TaskPage({ name }: { name: string }) {
  const { state, error, reload, patch } = useLive(`task/${name}`, {
    document: TaskDocument,
    variables: () => ({ name }),
    init: (data): State => ({ task: data.task }),
    outdates: (event) => event.taskName === name,
  });
  useEffect(() => setTitle(name), [name]);
  if (state === null || state.task === null) {
    return (
      <>
        <PageHead title={name} />
        {error !== null ? (
          <ErrorBox error={error} retry={reload} />
        ) : state === null ? (
          <Skeleton rows={10} />
        ) : (
          <Empty title={`There is no task '${name}'`}>
            <a class="button" href="/tasks">
              All tasks
            </a>
          </Empty>
        )}
      </>
    );
  }
  const task = state.task;
  const mark = (change: Partial<TaskDetail>): void =>
    patch((before) => (before.task === null ? before : { task: { ...before.task, ...change } }));
  return (
    <>
      <TaskHead task={task} mark={mark} />
      {error !== null && <ErrorBox error={error} retry={reload} />}
      <div class={error === null && !frozen.value ? "" : "dimmed"}>
        <TaskBody task={task} />
      </div>
    </>
  );
}

const TABS = ["runs", "schedule", "policies", "statistics", "alarms", "changes"] as const;
type Tab = (typeof TABS)[number];

function readTab(): Tab {
  const wanted = searchParams.value.get("tab");
  return TABS.find((tab) => tab === wanted) ?? "runs";
}

/** What runs and ran comes first; the rest is one press away, and in the address. */
function TaskTabs({ tab, task }: { tab: Tab; task: TaskDetail }) {
  const firing = useFiring(watchedWith(task));
  return (
    <>
      <nav class="tabs" aria-label="Parts of the task">
        {TABS.map((each) => (
          <button
            key={each}
            type="button"
            class="tab"
            aria-current={each === tab ? "true" : undefined}
            onClick={() => setParams({ tab: each === "runs" ? null : each })}
          >
            {each}
            {each === "alarms" && firing > 0 && (
              <span class="tab-count num tone-bad">
                {integer(firing)}
                <span class="visually-hidden"> firing</span>
              </span>
            )}
          </button>
        ))}
      </nav>
      <UnknownValue name="tab" label="Part" known={[...TABS]} />
    </>
  );
}

function TaskBody({ task }: { task: TaskDetail }) {
  const tab = readTab();
  const Part = {
    runs: RunsPart,
    schedule: SchedulePart,
    policies: PoliciesPart,
    statistics: StatisticsPart,
    alarms: AlarmsPart,
    changes: ChangesPart,
  }[tab];
  return (
    <>
      <TaskStrip task={task} />
      <TaskTabs tab={tab} task={task} />
      <Part task={task} />
    </>
  );
}

interface PartProps {
  task: TaskDetail;
}

/** How often it went well or failed in a row, in words; nothing before its first run. */
function streakWords({ executions }: TaskDetail): string {
  const { failures, longer } = streakOf(executions.nodes);
  if (failures > 0) return `${longer ? "at least " : ""}${plural(failures, "failure")} in a row`;
  const successes = executions.nodes.findIndex(({ outcome }) => outcome !== null && isFailure(outcome));
  const count = executions.nodes
    .slice(0, successes < 0 ? undefined : successes)
    .filter(({ outcome }) => outcome === "SUCCESS").length;
  return count === 0
    ? "no run yet"
    : `${successes < 0 && executions.nodes.length === 100 ? "at least " : ""}${plural(count, "success", "successes")} in a row`;
}

/** How it stands and stood, in few lines: what runs and ran follows within the first screen, on a phone too. */
function TaskStrip({ task }: PartProps) {
  const phone = usePhone();
  const last = task.lastStatus;
  const explained = <ExplanationView explain={task.explain} />;
  return (
    <section class="panel task-strip" aria-label="What happens next">
      <dl class="task-figures">
        <div>
          <dt>Next</dt>
          <dd>
            {task.nextExecutionAt === null || task.pausedAt !== null ? (
              "–"
            ) : (
              <Time at={task.nextExecutionAt} form="countdown" />
            )}
          </dd>
        </div>
        <div>
          <dt>Last</dt>
          <dd>
            {last === null ? (
              "–"
            ) : (
              <>
                <a class="plain" href={paths.execution(last.id)}>
                  <Status name={executionStatus(last)} />
                </a>{" "}
                <Time at={last.completedAt ?? last.startedAt} />
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>Streak</dt>
          <dd>{streakWords(task)}</dd>
        </div>
      </dl>
      {phone ? (
        <details class="task-next">
          <summary>What happens next, and why</summary>
          {explained}
        </details>
      ) : (
        <div class="task-next">{explained}</div>
      )}
      <div
        class="strip-wide"
        title="The last 60 occurrences: height = duration (logarithmic), colour = outcome, stub = skipped"
      >
        <Strip occurrences={stripOccurrences(task.strip)} label={task.name} wide />
      </div>
    </section>
  );
}

function RunsPart({ task }: PartProps) {
  return (
    <>
      <Unfinished task={task} />
      <Section title="Executions" aside={<a href={`/log?task=${encodeURIComponent(task.name)}`}>All in the log</a>}>
        <ExecutionTable
          executions={task.executions.nodes.slice(0, 25)}
          ofOneTask
          empty={
            <Empty title="It has not run yet">
              <p class="dim">Press “Run now” to try it at once.</p>
            </Empty>
          }
        />
      </Section>
      <TimelinePart taskName={task.name} />
      <Section title="Skipped occurrences">
        <SkippedTable skipped={task.skippedOccurrences.nodes} />
      </Section>
    </>
  );
}

function SchedulePart({ task }: PartProps) {
  return (
    <Section title="Schedule" aside={<span class="zone-tag">{task.schedule.timezone}</span>}>
      <div class="panel-body">
        <p class="preview-sentence">{task.schedule.humanized}</p>
        <p>
          <code>{task.schedule.value}</code>{" "}
          {task.isOverridden && task.declaredSchedule !== null && (
            <span class="dim">instead of {task.declaredSchedule.value} in the code</span>
          )}
        </p>
        {task.schedule.nextExecutions.length === 0 ? (
          <p class="dim">It has no further time.</p>
        ) : (
          <>
            <CalendarStrip
              times={task.schedule.nextExecutions}
              timezone={task.schedule.timezone}
              cut={task.schedule.nextExecutions.length >= FORESEEN}
            />
            <NextTimes times={task.schedule.nextExecutions} timezone={task.schedule.timezone} />
          </>
        )}
      </div>
    </Section>
  );
}

function PoliciesPart({ task }: PartProps) {
  return (
    <div class="columns">
      <Section title="Policies">
        <ul class="panel-body bullets">
          {policySentences(task)
            .map((sentence) => inZone(sentence, zone.value))
            .map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
        </ul>
      </Section>
      <Section title="Arguments">
        <div class="panel-body">
          {isEmptyObject(task.args) ? <p class="dim">None.</p> : <JsonView value={task.args} label="Arguments" />}
          {task.checkpoint !== null && (
            <>
              <h3 class="block-title">Checkpoint</h3>
              <JsonView value={task.checkpoint} label="Checkpoint" />
            </>
          )}
        </div>
      </Section>
    </div>
  );
}

function StatisticsPart({ task }: PartProps) {
  return (
    <>
      <div class="columns">
        <Section title="Durations">
          <DurationChart executions={task.executions.nodes} />
        </Section>
        <Section title="Records">
          <RecordsChart executions={task.executions.nodes} />
        </Section>
      </div>
      <Section title="When it runs">
        <HeatMap task={task.name} />
      </Section>
    </>
  );
}

/** Alarms of its job and its group notice the same. */
function watchedWith({ name, jobName, group }: TaskDetail) {
  return [
    { kind: "TASK", name },
    { kind: "JOB", name: jobName },
    { kind: "GROUP", name: group },
  ] as const;
}

function AlarmsPart({ task }: PartProps) {
  return <AlarmsOf watched={watchedWith(task)} />;
}

/** Who changed what, and where it comes from. */
function ChangesPart({ task }: PartProps) {
  return (
    <>
      <Section title="What changed">
        <Changes
          filter={{ kind: { eq: "TASK" }, name: { eq: task.name }, at: { gte: task.createdAt } }}
          ofOne
          versionOf={() => task.version}
        />
      </Section>
      <FactsPart task={task} />
    </>
  );
}

function FactsPart({ task }: PartProps) {
  return (
    <Section
      title="Facts"
      aside={
        whyNot("ADMIN") === null ? (
          <a href={`/audit?subject=${encodeURIComponent(task.name)}`}>Who changed it</a>
        ) : undefined
      }
    >
      <TaskFacts task={task} />
    </Section>
  );
}

/** Its runs that are not over, and those that were asked for a moment ago. */
function Unfinished({ task }: { task: TaskDetail }) {
  const runs = task.runs.nodes;
  const pending = stillPending(pendingRuns.value, [
    ...runs.map((run) => run.id),
    ...task.executions.nodes.map((execution) => execution.run?.id),
  ]);
  const asked = pending.filter((run) => run.name === task.name);
  if (runs.length === 0 && asked.length === 0) return null;
  return (
    <Section title="Unfinished runs">
      {asked.map((run) => (
        <p key={run.key} class="panel-body dim">
          A run was asked for…
        </p>
      ))}
      {runs.length > 0 && <RunTable runs={runs} />}
    </Section>
  );
}

interface TaskHeadProps {
  task: TaskDetail;
  mark: (change: Partial<TaskDetail>) => void;
}

function TaskHead({ task, mark }: TaskHeadProps) {
  const [asking, setAsking] = useState<Asking>(null);
  const close = (): void => setAsking(null);
  const description = task.description === "" ? (task.job?.description ?? "") : task.description;
  const before = { pausedAt: task.pausedAt, pauseReason: task.pauseReason, resumeAt: task.resumeAt };
  const resume = async (): Promise<void> => {
    mark({ pausedAt: null, pauseReason: null, resumeAt: null });
    if (!(await resumeTasks([task.name], task.pauseReason ?? ""))) mark(before);
  };
  const pause = async (reason: string, resumeAt: string | null): Promise<void> => {
    close();
    mark({ pausedAt: new Date(serverNow()).toISOString(), pauseReason: reason, resumeAt });
    if (!(await pauseTasks([task.name], reason, resumeAt))) mark(before);
  };
  return (
    <>
      <PageHead
        title={
          <>
            <Name text={task.name} /> <Status name={taskStatus(task)} />
          </>
        }
      >
        <Action class="button primary" onClick={() => void runTask(task.name)}>
          <Icon name="play" /> Run now
        </Action>
        <Action class="button" onClick={() => setAsking("run")}>
          Run with…
        </Action>
        {task.pausedAt === null ? (
          <Action class="button" onClick={() => setAsking("pause")}>
            <Icon name="pause" /> Pause
          </Action>
        ) : (
          <Action class="button" onClick={() => void resume()}>
            <Icon name="resume" /> Resume
          </Action>
        )}
        <Action class="button" onClick={() => setAsking("edit")}>
          <Icon name="edit" /> Edit
        </Action>
        <Action class="button" onClick={() => setAsking("duplicate")}>
          <Icon name="copy" /> Duplicate
        </Action>
        {task.isOverridden && (
          <Action class="button" onClick={() => void resetTask(task.name)}>
            Reset to code
          </Action>
        )}
        {task.isDeletable && (
          <Action class="button danger" onClick={() => setAsking("delete")}>
            <Icon name="trash" /> Delete
          </Action>
        )}
      </PageHead>
      <p class="page-sub dim" title={description}>
        <span class="page-sub-text">{description}</span>
        {task.pausedAt !== null && (
          <span class="tone-warn">
            {" "}
            Paused <Time at={task.pausedAt} />
            {task.pausedBy !== null && ` by ${task.pausedBy}`}
            {task.resumeAt !== null && (
              <>
                {" "}
                until <Time at={task.resumeAt} />
              </>
            )}
            {task.pauseReason !== null && task.pauseReason !== "" && `: ${task.pauseReason}`}
          </span>
        )}
      </p>
      {asking === "pause" && (
        <PauseDialog name={task.name} onClose={close} onPause={(reason, at) => void pause(reason, at)} />
      )}
      {asking === "edit" && <EditTask name={task.name} onClose={close} />}
      {asking === "duplicate" && <DuplicateTask name={task.name} onClose={close} />}
      {asking === "run" && <RunTask task={task} onClose={close} />}
      {asking === "delete" && <DeleteTask name={task.name} onClose={close} onDeleted={() => navigate("/tasks")} />}
    </>
  );
}

/** Asks for the arguments of one run, and for what it needs at the engine of its job. */
function RunTask({ task, onClose }: PartProps & { onClose: () => void }) {
  const { field, sent } = useResources(task.job?.isolation);
  return (
    <RunWithArgs
      title={`Run ${task.name}`}
      action="Run now"
      args={task.args}
      schema={task.job?.argsSchema}
      onClose={onClose}
      onRun={(args) => sent<boolean | readonly UserError[]>((needed) => runTaskWith(task.name, args, needed), false)}
      onTry={(args) => sent((needed) => tryTask(task.name, args, needed), null)}
    >
      {field}
    </RunWithArgs>
  );
}
