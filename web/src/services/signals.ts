import { mutate } from "../api/mutate";
import { graphql } from "../api/tada";
import { notify } from "../state/announce";

const SignalRun = graphql(`
  mutation SignalRun($input: SignalRunInput!) {
    signalRun(input: $input) {
      run { id }
      errors { code message path }
    }
  }
`);

/** Whose wait is answered: the run, and the name of the signal. */
export interface SignalTarget {
  readonly id: string;
  readonly name: string;
}

async function send(
  input: SignalTarget & { readonly payload?: unknown; readonly reject?: string },
  done: string,
): Promise<string | null> {
  const outcome = await mutate(SignalRun, { input }, (data) => data.signalRun);
  if (!outcome.ok) return outcome.errors.map(({ message }) => message).join("; ");
  notify(done);
  return null;
}

/** Answers what a run waits for; what is wrong with the answer, or null. */
export function answerSignal({ id, name }: SignalTarget, payload: unknown): Promise<string | null> {
  return send({ id, name, ...(payload !== undefined && { payload }) }, `Run ${id} has its answer`);
}

/** Says no to what a run waits for; why that was refused, or null. */
export function rejectSignal({ id, name }: SignalTarget, reject: string): Promise<string | null> {
  return send({ id, name, reject }, `Run ${id} gets the answer no`);
}
