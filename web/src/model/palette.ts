/** What the command palette offers for what is typed. Pure. */
import type { IconName } from "../lib/status";

/** One line of the palette: it goes somewhere, or presses a button of the page. */
export interface Command {
  readonly id: string;
  readonly icon: IconName;
  readonly label: string;
  /** What kind of thing it is, as a word beside it. */
  readonly kind: string;
  /** Where it goes; null for what is pressed. */
  readonly href: string | null;
  /** Which button of the page it presses, by its place among them. */
  readonly press: number | null;
}

/**
 * How well a label fits what is typed: the lower, the better; null if it does not. All words must be there, in any
 * order.
 */
export function fit(label: string, typed: string): number | null {
  const text = label.toLowerCase();
  const words = typed
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  let sum = 0;
  for (const word of words) {
    const at = text.indexOf(word);
    if (at < 0) return null;
    const begins = at === 0 ? 0 : /[^\p{L}\p{N}]/u.test(text[at - 1] ?? "") ? 1 : 2;
    sum += begins;
  }
  return sum;
}

/** The commands that fit, best first; those that fit as well in their own order. */
export function ranked(commands: readonly Command[], typed: string, most: number): readonly Command[] {
  return commands
    .flatMap((command) => {
      const value = fit(command.label, typed);
      return value === null ? [] : [{ command, value }];
    })
    .sort((left, right) => left.value - right.value)
    .slice(0, most)
    .map(({ command }) => command);
}

/** Ids of runs, executions and flows are numbers: one that is typed leads to each of them. */
export function byNumber(typed: string): readonly Command[] {
  const number = /^#?(\d{1,19})$/.exec(typed.trim())?.[1];
  if (number === undefined) return [];
  const to = (kind: string, icon: IconName, path: string): Command => ({
    id: path,
    icon,
    label: `${kind} ${number}`,
    kind: "number",
    href: path,
    press: null,
  });
  return [
    to("Run", "runs", `/runs/${number}`),
    to("Execution", "log", `/log/${number}`),
    to("Flow", "flows", `/flows/${number}`),
  ];
}

/** What names lead to. */
export function byName(kind: "task" | "job" | "group", names: readonly string[]): readonly Command[] {
  const href = {
    task: (name: string) => `/tasks/${encodeURIComponent(name)}`,
    job: (name: string) => `/jobs/${encodeURIComponent(name)}`,
    group: (name: string) => `/runs?group=${encodeURIComponent(name)}`,
  }[kind];
  const icon: IconName = kind === "task" ? "tasks" : kind === "job" ? "jobs" : "groups";
  return names.map((name) => ({ id: `${kind} ${name}`, icon, label: name, kind, href: href(name), press: null }));
}
