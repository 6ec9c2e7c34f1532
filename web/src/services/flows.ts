import { mutate, report } from "../api/mutate";
import { graphql } from "../api/tada";
import { notify } from "../state/announce";

const CancelFlow = graphql(`
  mutation CancelFlow($input: CancelFlowInput!) {
    cancelFlow(input: $input) {
      flow { id }
      errors { code message path }
    }
  }
`);

const RetryFlow = graphql(`
  mutation RetryFlow($input: RetryFlowInput!) {
    retryFlow(input: $input) {
      flow { id }
      errors { code message path }
    }
  }
`);

/** Cancels all unfinished runs of a flow. */
export async function cancelFlow(id: string): Promise<void> {
  if (report(await mutate(CancelFlow, { input: { id } }, (data) => data.cancelFlow)))
    notify(`Flow ${id} is being cancelled`);
}

/** Makes new runs in the place of those that failed or were cancelled, and of those that these kept from starting. */
export async function retryFlow(id: string): Promise<void> {
  if (report(await mutate(RetryFlow, { input: { id } }, (data) => data.retryFlow)))
    notify(`Flow ${id} is tried again where it failed`);
}

/** Makes a run of a finished flow again, and all that come after it; whether the server does. */
export async function retryFlowFrom(id: string, fromRun: string): Promise<boolean> {
  const done = report(await mutate(RetryFlow, { input: { id, fromRun } }, (data) => data.retryFlow));
  if (done) notify(`Flow ${id} is made again from run ${fromRun}`);
  return done;
}
