import { type FragmentOf, graphql } from "./tada";

/** A durable step of a run, without its value: that may be large. */
export const StepFragment = graphql(`
  fragment StepRow on RunStep {
    label
    kind
    state
    attempt
    startedAt
    finishedAt
    wakeAt
    signal
    role
    form
    answerPage { title text shows confirm reject }
    flowId
    error
    cleanupJobName
    isUsed
    isLatest
  }
`);

export type StepRow = FragmentOf<typeof StepFragment>;
