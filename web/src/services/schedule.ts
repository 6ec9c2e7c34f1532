import { request } from "../api/client";
import { graphql, type ResultOf } from "../api/tada";
import type { Syntax } from "../model/task-form";

const ValidateSchedule = graphql(`
  query ValidateSchedule($schedule: ScheduleInput!, $count: Int!) {
    validateSchedule(schedule: $schedule, count: $count) {
      isValid
      humanized
      nextExecutions
      error { code message field position suggestion corrected }
    }
  }
`);

export type Validation = ResultOf<typeof ValidateSchedule>["validateSchedule"];

/** Times that are asked for: enough for some weeks of a daily schedule. */
export const FORESEEN = 40;

/** What the server thinks of a schedule: the browser computes nothing of it. */
export async function validateSchedule(
  schedule: { syntax: Syntax; value: string; timezone: string },
  signal: AbortSignal,
): Promise<Validation> {
  return (await request(ValidateSchedule, { schedule, count: FORESEEN }, signal)).validateSchedule;
}
