/** What is wrong with the server as a whole, the worst first, in one sentence. Pure. */
import { integer, plural } from "../../lib/format";
import { wholeDuration } from "../../lib/time";

/** What is known of the server's state; times in milliseconds of its clock. */
export interface Condition {
  readonly now: number;
  readonly liveNodes: number;
  /** Jobs of unfinished runs that no live node knows, of the newest of these runs. */
  readonly unknownJobs: readonly string[];
  /** Unfinished runs of such jobs. */
  readonly runsOfUnknownJobs: number;
  /** When the first enabled task that is not yet dispatched was due; null without any. */
  readonly firstDue: number | null;
}

export interface Worst {
  readonly tone: "bad";
  readonly text: string;
  readonly href: string;
}

/** The jobs of so many runs are known. */
export const LOOKED_AT = 200;
/** Dispatch may be so late, in milliseconds, without a word. */
const LATE = 10_000;

/** The server counts so far. */
const COUNTED = 10_000;

function someRuns(count: number): string {
  return count > COUNTED ? `More than ${integer(COUNTED)} runs` : plural(count, "run");
}

/** The jobs by name: all of few; of many the first, and how many more if that is known. */
function jobsOf(names: readonly string[], all: boolean): string {
  const [first = "", second = ""] = names;
  if (names.length < 2) return all ? first : `jobs such as ${first}`;
  if (names.length === 2 && all) return `${first} and ${second}`;
  return all
    ? `${first}, ${second} and ${plural(names.length - 2, "other job")}`
    : `jobs such as ${first} and ${second}`;
}

export function worstOf(condition: Condition): Worst | null {
  const { now, liveNodes, unknownJobs, runsOfUnknownJobs, firstDue } = condition;
  if (liveNodes === 0) return { tone: "bad", text: "No node is alive: nothing runs", href: "/nodes" };
  if (firstDue !== null && now - firstDue > LATE) {
    return {
      tone: "bad",
      text: `Dispatch is ${wholeDuration((now - firstDue) / 1000)} late: tasks that are due have made no runs`,
      href: "/tasks?sort=next",
    };
  }
  if (runsOfUnknownJobs > 0) {
    const wait = runsOfUnknownJobs === 1 ? "waits" : "wait";
    return {
      tone: "bad",
      text: `${someRuns(runsOfUnknownJobs)} ${wait} because no node knows ${jobsOf(unknownJobs, runsOfUnknownJobs <= LOOKED_AT)}`,
      href:
        unknownJobs.length === 1 && runsOfUnknownJobs <= LOOKED_AT
          ? `/runs?q=${encodeURIComponent(unknownJobs[0] ?? "")}`
          : "/jobs",
    };
  }
  return null;
}
