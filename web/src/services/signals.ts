import { mutate, type UserError } from "../api/mutate";
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
  { id, name }: SignalTarget,
  answer: { readonly payload?: unknown } | { readonly reject: string },
  done: string,
): Promise<readonly UserError[]> {
  const input = { run: { id }, name, ...answer };
  const outcome = await mutate(SignalRun, { input }, (data) => data.signalRun);
  if (!outcome.ok) return outcome.errors;
  notify(done);
  return [];
}

/** Answers what a run waits for; what is wrong with the answer. */
export function answerSignal(target: SignalTarget, payload: unknown): Promise<readonly UserError[]> {
  return send(target, payload === undefined ? {} : { payload }, `Run ${target.id} has its answer`);
}

/** Says no to what a run waits for; why that was refused. */
export function rejectSignal(target: SignalTarget, reject: string): Promise<readonly UserError[]> {
  return send(target, { reject }, `Run ${target.id} gets the answer no`);
}
