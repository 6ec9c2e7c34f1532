/** Failures that differ in names of nodes, numbers and keys only are one failure. Pure. */

interface FailureGroup {
  readonly jobName: string;
  readonly errorType: string | null;
  readonly message: string;
  readonly count: number;
  readonly first: string;
  readonly last: string;
}

/** A node's name as the server makes it: `evasive-einstein-62763`. */
const NODE_NAME = /\b[a-z]+(?:[-_][a-z]+)+-\d{2,}\b/g;
const KEY = /\b[0-9a-f]{8,}(?:-[0-9a-f]{4,})*\b/gi;
const NUMBER = /\d+(?:[.,:]\d+)*/g;

/** A message without what differs from one failure to the next. */
export function shapeOf(message: string): string {
  return message.replace(NODE_NAME, "‹node›").replace(KEY, "‹key›").replace(NUMBER, "‹n›");
}

/** Groups of one shape as one, with the words of the newest; the most frequent first. */
export function joinAlike<G extends FailureGroup>(groups: readonly G[]): readonly G[] {
  const joined = new Map<string, G>();
  for (const group of groups) {
    const key = JSON.stringify([group.jobName, group.errorType, shapeOf(group.message)]);
    const known = joined.get(key);
    joined.set(key, known === undefined ? group : join(known, group));
  }
  return [...joined.values()].sort((left, right) => right.count - left.count);
}

function join<G extends FailureGroup>(left: G, right: G): G {
  const newest = Date.parse(left.last) >= Date.parse(right.last) ? left : right;
  const first = Date.parse(left.first) <= Date.parse(right.first) ? left.first : right.first;
  return { ...newest, count: left.count + right.count, first };
}
