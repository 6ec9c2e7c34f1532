/** How long what is kept: the arguments of the task that prunes, in words. Pure. */
import { argFields, valueAt } from "../lib/args-schema";
import { integer, plural } from "../lib/format";

const SAID: readonly (readonly [argument: string, what: string, say: (value: number) => string])[] = [
  ["max_age_days", "Runs, executions and their logs", days],
  ["max_per_task", "Of each task", (value) => `the newest ${integer(value)} runs`],
  ["max_audit_days", "Audit log", days],
];

function days(value: number): string {
  return Number.isInteger(value) ? plural(value, "day") : `${value} days`;
}

/** What is kept and how long, by the arguments of a task and by what its job takes unless they are given. */
export function retentionOf(args: unknown, schema: unknown): readonly (readonly [what: string, howLong: string])[] {
  const fields = argFields(schema);
  return SAID.map(([argument, what, say]) => {
    const value = valueAt(args, [argument]) ?? fields.find(({ name }) => name === argument)?.default;
    return [what, typeof value === "number" ? say(value) : "without a limit"] as const;
  });
}
