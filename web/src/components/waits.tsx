import type { StepRow } from "../graphql/step";
import { words } from "../lib/format";
import { Section } from "./section";
import { Elapsed, Time } from "./time";

interface WaitsProps {
  run: { readonly id: string };
  steps: readonly StepRow[];
}

/** What a suspended run waits for: times, signals, other runs. */
export function Waits({ steps }: WaitsProps) {
  const waiting = steps.filter(({ state }) => state === "WAITING");
  if (waiting.length === 0) return null;
  return (
    <Section title="Waits for">
      <ul class="waits panel-body">
        {waiting.map((step) => (
          <li key={step.label} class="wait">
            <span class="wait-what">
              <WaitOf step={step} />
              <span class="dim">
                since <Elapsed since={step.startedAt} />
                {step.wakeAt !== null && step.kind !== "SLEEP" && (
                  <>
                    , until <Time at={step.wakeAt} form="full" />
                  </>
                )}
              </span>
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function WaitOf({ step }: { step: StepRow }) {
  switch (step.kind) {
    case "SLEEP":
      return (
        <span>
          <strong>{step.label}</strong>: a sleep{step.wakeAt !== null && <> until <Time at={step.wakeAt} form="full" /></>}
        </span>
      );
    case "SIGNAL":
      return (
        <span>
          <strong>{step.signal ?? step.label}</strong>: a signal{step.role !== null && ` of somebody with the role ${words(step.role)}`}
        </span>
      );
    case "RUNS":
      return (
        <span>
          <strong>{step.label}</strong>: runs that it began
        </span>
      );
    case "FUNCTION":
      return <strong>{step.label}</strong>;
  }
}
