import { duration, wholeDuration } from "../lib/time";
import { now } from "../live/clock";
import { Time } from "./time";

interface LifeLineProps {
  submittedAt: string;
  availableAt: string | null;
  startedAt: string;
  completedAt: string | null;
  outcome: string;
}

interface Step {
  readonly name: string;
  readonly at: string;
}

/** The times of an execution in a row, with what lies between them. */
export function LifeLine({ submittedAt, availableAt, startedAt, completedAt, outcome }: LifeLineProps) {
  const due = availableAt !== null && Date.parse(availableAt) > Date.parse(submittedAt) + 500 && Date.parse(availableAt) <= Date.parse(startedAt);
  const steps: readonly Step[] = [
    { name: "queued", at: submittedAt },
    ...(due ? [{ name: "due", at: availableAt }] : []),
    { name: "started", at: startedAt },
    ...(completedAt === null ? [] : [{ name: outcome, at: completedAt }]),
  ];
  return (
    <ol class="life">
      {steps.map((step, index) => {
        const next = steps[index + 1];
        return (
          <li key={step.name} class="life-step">
            <span class="life-name">{step.name}</span>
            <span class="life-time">
              <Time at={step.at} form="moment" />
            </span>
            {next !== undefined && <span class="life-gap num">{duration((Date.parse(next.at) - Date.parse(step.at)) / 1000)}</span>}
            {next === undefined && completedAt === null && <span class="life-gap num tone-active">{wholeDuration((now.value - Date.parse(step.at)) / 1000)} so far</span>}
          </li>
        );
      })}
    </ol>
  );
}
