import { announced, mutate, type Outcome, report } from "../api/mutate";
import { graphql } from "../api/tada";
import { notify } from "../state/announce";

const SilenceFailures = graphql(`
  mutation SilenceFailures($input: SilenceFailuresInput!) {
    silenceFailures(input: $input) {
      errors { code message path }
    }
  }
`);

const SolveFailures = graphql(`
  mutation SolveFailures($input: SolveFailuresInput!) {
    solveFailures(input: $input) {
      errors { code message path }
    }
  }
`);

const ReopenFailures = graphql(`
  mutation ReopenFailures($input: ReopenFailuresInput!) {
    reopenFailures(input: $input) {
      errors { code message path }
    }
  }
`);

/** By which the server finds a group of failures. */
interface Group {
  readonly fingerprint: string;
  readonly jobName: string;
}

/** Lets an error count as known until a time. */
export async function silenceFailures(
  { fingerprint, jobName }: Group,
  endsAt: string,
  reason: string,
): Promise<Outcome<null>> {
  const input = { fingerprint, jobName, endsAt, ...(reason !== "" && { reason }) };
  const outcome = await mutate(SilenceFailures, { input }, (data) => data.silenceFailures);
  return announced(outcome, "This error is silenced");
}

/** Lets an error count again. */
export async function endSilenceOfFailures({ fingerprint, jobName }: Group): Promise<void> {
  const input = { fingerprint, jobName };
  if (report(await mutate(SilenceFailures, { input }, (data) => data.silenceFailures)))
    notify("This error counts again");
}

/** Lets an error count as solved; `codeVersion` is empty if the present code solves it. */
export async function solveFailures({ fingerprint, jobName }: Group, codeVersion: string): Promise<Outcome<null>> {
  const input = { fingerprint, jobName, ...(codeVersion !== "" && { codeVersion }) };
  const outcome = await mutate(SolveFailures, { input }, (data) => data.solveFailures);
  return announced(outcome, "This error counts as solved");
}

/** Lets an error count as unsolved again. */
export async function reopenFailures({ fingerprint }: Group): Promise<void> {
  const input = { fingerprint };
  if (report(await mutate(ReopenFailures, { input }, (data) => data.reopenFailures)))
    notify("This error is open again");
}
