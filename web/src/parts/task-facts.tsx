import type { ComponentChildren } from "preact";
import type { TaskDetail } from "../api/task-page";
import { integer, words } from "../lib/format";
import { labelsOf } from "../lib/labels";
import { rateText } from "../lib/limits";
import { paths } from "../lib/paths";
import { resourcesText } from "../lib/resources";
import { Time } from "../ui/time";
import { Labels } from "./labels";

/** Name and value, one under the other. */
export function Facts({ entries }: { entries: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="pairs panel-body">
      {entries.map(([term, value]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function TaskFacts({ task }: { task: TaskDetail }) {
  return (
    <Facts
      entries={[
        ...(task.description === "" ? [] : ([["Description", task.description]] as const)),
        ["Job", <a href={paths.job(task.jobName)}>{task.jobName}</a>],
        ["Group", <a href={paths.group(task.group)}>{task.group}</a>],
        ["Priority", words(task.priority)],
        ["Source", words(task.source)],
        ["Owner", task.owner ?? "–"],
        ["Made by", task.submitter ?? "–"],
        ...(labelsOf(task.labels).length === 0 ? [] : ([["Labels", <Labels labels={task.labels} />]] as const)),
        ...(task.resources === null
          ? []
          : ([["At the engine", <code>{resourcesText(task.resources)}</code>]] as const)),
        ...(task.rate === null ? [] : ([["Starts", <span class="num">{rateText(task.rate)}</span>]] as const)),
        ["Runs made", <span class="num">{integer(task.counter)}</span>],
        ["Last due", task.lastDueAt === null ? "–" : <Time at={task.lastDueAt} />],
        ["Last started", task.lastStartedAt === null ? "–" : <Time at={task.lastStartedAt} />],
        ["Created", <Time at={task.createdAt} form="full" />],
        ["Edited", <Time at={task.updatedAt} form="full" />],
        ["Version", <span class="num">{task.version}</span>],
      ]}
    />
  );
}
