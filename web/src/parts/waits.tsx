import { useState } from "preact/hooks";
import type { StepRow } from "../api/step";
import { words } from "../lib/format";
import { paths } from "../lib/paths";
import { Action } from "../ui/action";
import { Section } from "../ui/section";
import { Elapsed, Time } from "../ui/time";
import { AnswerPage } from "./answer-page";
import { AnswerDialog, RejectDialog } from "./dialogs";

interface WaitsProps {
  run: { readonly id: string };
  steps: readonly StepRow[];
}

/** The waits for a signal among the steps of a run. */
export function signalsOf(steps: readonly StepRow[]): readonly StepRow[] {
  return steps.filter(({ state, kind }) => state === "WAITING" && kind === "SIGNAL");
}

/** The word on the button that says no; null: the job has none on its page. */
function rejectWord(step: StepRow): string | null {
  return step.answerPage === null ? "Reject" : step.answerPage.reject;
}

/** What a suspended run waits for: times, signals, other runs. */
export function Waits({ run, steps }: WaitsProps) {
  const waiting = steps.filter(({ state }) => state === "WAITING");
  if (waiting.length === 0) return null;
  return (
    <Section title="Waits for">
      <WaitList run={run} steps={waiting} />
    </Section>
  );
}

/** Waits, each with what people can do about it. */
export function WaitList({ run, steps }: WaitsProps) {
  const [asking, setAsking] = useState<{ readonly kind: "answer" | "reject"; readonly step: StepRow } | null>(null);
  const close = (): void => setAsking(null);
  return (
    <>
      <ul class="waits panel-body">
        {steps.map((step) => (
          <li key={step.label} class="wait">
            <div class="wait-what">
              <WaitOf step={step} />{" "}
              <span class="dim">
                since <Elapsed since={step.startedAt} />
                {step.wakeAt !== null && step.kind !== "SLEEP" && (
                  <>
                    , until <Time at={step.wakeAt} form="full" />
                  </>
                )}
              </span>
              {step.answerPage !== null && <AnswerPage page={step.answerPage} />}
            </div>
            {step.kind === "SIGNAL" && (
              <span class="wait-actions">
                <Action
                  class="button small primary"
                  needs={step.role ?? "OPERATOR"}
                  aria-label={`${step.answerPage?.confirm ?? "Answer"} ${step.label} of run ${run.id}`}
                  onClick={() => setAsking({ kind: "answer", step })}
                >
                  {step.answerPage?.confirm ?? "Answer"}…
                </Action>
                {rejectWord(step) !== null && (
                  <Action
                    class="button small danger"
                    needs={step.role ?? "OPERATOR"}
                    aria-label={`${rejectWord(step)} ${step.label} of run ${run.id}`}
                    onClick={() => setAsking({ kind: "reject", step })}
                  >
                    {rejectWord(step)}…
                  </Action>
                )}
              </span>
            )}
          </li>
        ))}
      </ul>
      {asking?.kind === "answer" && <AnswerDialog run={run} step={asking.step} onClose={close} />}
      {asking?.kind === "reject" && <RejectDialog run={run} step={asking.step} onClose={close} />}
    </>
  );
}

function WaitOf({ step }: { step: StepRow }) {
  switch (step.kind) {
    case "SLEEP":
      return (
        <span>
          <strong>{step.label}</strong>: a sleep
          {step.wakeAt !== null && (
            <>
              {" "}
              until <Time at={step.wakeAt} form="full" />
            </>
          )}
        </span>
      );
    case "SIGNAL":
      return (
        <span>
          <strong>{step.answerPage?.title ?? step.signal ?? step.label}</strong>: an answer
          {step.role !== null && ` of somebody with the role ${words(step.role)}`}
        </span>
      );
    case "RUNS":
      return (
        <span>
          <strong>{step.label}</strong>: runs that it began
          {step.flowId !== null && (
            <>
              , <a href={paths.flow(step.flowId)}>flow {step.flowId}</a>
            </>
          )}
        </span>
      );
    case "FUNCTION":
      return <strong>{step.label}</strong>;
  }
}
