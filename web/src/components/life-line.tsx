import type { Step } from "../model/course";
import { duration, wholeDuration } from "../lib/time";
import { now } from "../live/clock";
import { Time } from "./time";

interface LifeLineProps {
  steps: readonly Step[];
  /** Whether it goes on after the last step: the time since then ticks. */
  open: boolean;
}

/** The times of a run or of an execution in a row, with what lies between them. */
export function LifeLine({ steps, open }: LifeLineProps) {
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
            {next === undefined && open && now.value > Date.parse(step.at) && <span class="life-gap num tone-active">{wholeDuration((now.value - Date.parse(step.at)) / 1000)} so far</span>}
          </li>
        );
      })}
    </ol>
  );
}
