import type { ExecutionRow } from "../graphql/fragments";
import { paths } from "../lib/paths";
import { executionStatus } from "../lib/status";
import { duration } from "../lib/time";
import { Duration } from "./progress";
import { Status } from "./status";
import { Elapsed, Time } from "./time";

interface AttemptsProps {
  attempts: readonly ExecutionRow[];
  current: string;
}

/** All attempts at a run, with the waits between them. */
export function Attempts({ attempts, current }: AttemptsProps) {
  const ordered = [...attempts].sort((left, right) => left.attempt - right.attempt);
  return (
    <ol class="attempts">
      {ordered.map((attempt, index) => {
        const before = ordered[index - 1];
        const gap = before?.completedAt == null ? null : (Date.parse(attempt.startedAt) - Date.parse(before.completedAt)) / 1000;
        return (
          <li key={attempt.id} class={attempt.id === current ? "attempt current" : "attempt"} aria-current={attempt.id === current ? "true" : undefined}>
            {gap !== null && <p class="attempt-gap dim">waited {duration(gap)}</p>}
            <div class="attempt-line">
              <a href={paths.execution(attempt.id)}>attempt {attempt.attempt}</a>
              <Status name={executionStatus(attempt)} />
              <span class="dim">
                <Time at={attempt.startedAt} form="moment" />
              </span>
              <span>{attempt.completedAt === null ? <Elapsed since={attempt.startedAt} /> : <Duration seconds={attempt.duration} />}</span>
              <span class="dim attempt-node">{attempt.node}</span>
              {attempt.errorMessage !== null && (
                <span class="error-line" title={attempt.errorMessage}>
                  {attempt.errorMessage.split("\n", 1)[0]}
                </span>
              )}
            </div>
          </li>
        );
      })}
    </ol>
  );
}
