import { EditableTaskFragment } from "./editable";
import { ExecutionRowFragment, RunRowFragment, TaskRowFragment } from "./fragments";
import { SkippedFragment } from "./skipped";
import { StripFragment } from "./strip";
import { graphql, type ResultOf } from "./tada";

/** All that the page of a task shows. */
export const TaskDocument = graphql(
  `
  query TaskPage($name: String!) {
    asOf
    serverTime
    task(name: $name) {
      ...TaskRow
      ...EditableTask
      submitter
      job { argsSchema description isolation }
      schedule { nextExecutions(count: 10) }
      declaredSchedule { value timezone humanized }
      nextNominalAt
      isDeletable
      lastDueAt
      lastStartedAt
      counter
      checkpoint
      createdAt
      updatedAt
      explain { code sentence details changesAt run { id } }
      strip(last: 60) { ...StripColumns }
      runs(
        first: 10
        filter: { state: { in: [WAITING, SCHEDULED, RUNNING, STUCK, SUSPENDED] } }
        orderBy: [{ field: ID }]
      ) {
        nodes {
          ...RunRow
          explain { sentence details changesAt }
        }
      }
      executions(first: 100, orderBy: [{ field: ID, direction: DESC }]) { nodes { ...ExecutionRow } }
      skippedOccurrences(first: 20, orderBy: [{ field: ID, direction: DESC }]) { nodes { ...Skipped } }
    }
  }
`,
  [TaskRowFragment, EditableTaskFragment, StripFragment, RunRowFragment, ExecutionRowFragment, SkippedFragment],
);

/** A task as its page knows it. */
export type TaskDetail = NonNullable<ResultOf<typeof TaskDocument>["task"]>;
