/** Two attempts next to each other: what differs. Pure. */

/** What goes on since a time. */
export interface Since {
  readonly since: string;
}

/** One of the two. */
export interface Side {
  readonly outcome: string;
  readonly trigger: string;
  readonly node: string;
  readonly startedAt: string;
  readonly wait: number | null;
  /** Whether it goes on: so do its steps that have not ended. */
  readonly open: boolean;
  readonly duration: number | null;
  readonly records: number | null;
  readonly error: string | null;
  readonly args: unknown;
  readonly result: unknown;
  readonly steps: readonly { readonly label: string; readonly startedAt: string; readonly finishedAt: string | null }[];
}

/** How a value is written. */
export type Kind = "text" | "seconds" | "number" | "time" | "json";

/** One line of the comparison; undefined where a side has no such thing. */
export interface Line {
  readonly name: string;
  readonly kind: Kind;
  readonly left: unknown;
  readonly right: unknown;
  readonly differs: boolean;
}

/** Times of two attempts differ always by a little: less than this share is no difference. */
const ALIKE = 0.1;
/** Nor are so many seconds. */
const SHORT = 0.05;

/** All lines, in the order in which one asks: how did it end, with what, and where did the time go. */
export function compared(left: Side, right: Side): readonly Line[] {
  const fact = (name: string, kind: Kind, read: (side: Side) => unknown): Line =>
    lineOf(name, kind, read(left), read(right));
  return [
    fact("Outcome", "text", ({ outcome }) => outcome),
    fact("Error", "text", ({ error }) => error ?? undefined),
    fact("Started", "time", ({ startedAt }) => startedAt),
    fact("Waited", "seconds", ({ wait }) => wait ?? undefined),
    fact("Took", "seconds", ({ open, duration, startedAt }) => duration ?? (open ? { since: startedAt } : undefined)),
    fact("Records", "number", ({ records }) => records ?? undefined),
    fact("Node", "text", ({ node }) => node),
    fact("Trigger", "text", ({ trigger }) => trigger),
    ...byKey("Argument", "json", members(left.args), members(right.args)),
    fact("Result", "json", ({ result }) => result ?? undefined),
    ...byKey("Step", "seconds", lengths(left), lengths(right)),
  ].filter((line) => line.left !== undefined || line.right !== undefined);
}

function lineOf(name: string, kind: Kind, left: unknown, right: unknown): Line {
  // Two attempts never start at the same time: that is no finding.
  return { name, kind, left, right, differs: kind !== "time" && !same(kind, left, right) };
}

function same(kind: Kind, left: unknown, right: unknown): boolean {
  if (kind === "seconds" && typeof left === "number" && typeof right === "number")
    return Math.abs(left - right) <= Math.max(SHORT, ALIKE * Math.max(left, right));
  return canonical(left) === canonical(right);
}

/** JSON with the keys of its objects in one order, so that equal values are equal texts. */
function canonical(value: unknown): string | undefined {
  return JSON.stringify(value, (_key, each: unknown) =>
    isObject(each) ? Object.fromEntries(Object.entries(each).sort(([one], [other]) => (one < other ? -1 : 1))) : each,
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function members(value: unknown): ReadonlyMap<string, unknown> {
  return new Map(isObject(value) ? Object.entries(value) : []);
}

/** Seconds by label; a step that was taken more than once counts as often, and one that goes on since it began. */
function lengths({ steps, open }: Side): ReadonlyMap<string, number | Since> {
  const found = new Map<string, number | Since>();
  for (const { label, startedAt, finishedAt } of steps) {
    const before = found.get(label) ?? 0;
    if (finishedAt === null) {
      if (open) found.set(label, { since: startedAt });
    } else if (typeof before === "number")
      found.set(label, before + (Date.parse(finishedAt) - Date.parse(startedAt)) / 1000);
  }
  return found;
}

/** Whether a value goes on. */
export function isSince(value: unknown): value is Since {
  return isObject(value) && typeof value["since"] === "string";
}

function byKey(
  word: string,
  kind: Kind,
  left: ReadonlyMap<string, unknown>,
  right: ReadonlyMap<string, unknown>,
): readonly Line[] {
  return [...new Set([...left.keys(), ...right.keys()])].map((key) =>
    lineOf(`${word} ${key}`, kind, left.get(key), right.get(key)),
  );
}

/** What an attempt is compared with: another one of its run, or the newest of another run. */
export interface Other {
  readonly run: string;
  readonly attempt: number | null;
}

/** Reads `812`, a run, or `812.3`, its third attempt; null for anything else. */
export function readOther(text: string | null): Other | null {
  const found = /^(\d{1,19})(?:\.(\d{1,9}))?$/.exec(text?.trim() ?? "");
  return found?.[1] === undefined ? null : { run: found[1], attempt: found[2] === undefined ? null : Number(found[2]) };
}
