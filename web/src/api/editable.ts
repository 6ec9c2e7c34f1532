import { graphql } from "./tada";

/** What the task form edits. */
export const EditableTaskFragment = graphql(`
  fragment EditableTask on Task {
    name
    version
    jobName
    description
    schedule { syntax value timezone }
    args
    group
    priority
    owner
    labels
    resources { cpus memory gpus image queue options }
    rate { limit per burst }
    overlap
    misfire
    misfireGrace
    catchUpLimit
    tolerance
    timeout
    retries
    retryDelay
    jitter
    startAt
    endAt
  }
`);
