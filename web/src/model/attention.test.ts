import { expect, test } from "vitest";
import {
  blockedGroups,
  changesOf,
  failedShare,
  headline,
  LOST_FOR,
  nodesInTrouble,
  streakOf,
  type Troubles,
  toneOf,
} from "./attention";

const NONE: Troubles = {
  failing: 0,
  errors: 0,
  failedJobs: 0,
  failedShare: null,
  late: 0,
  blocked: 0,
  stalledNodes: 0,
  lostNodes: 0,
  people: 0,
  alarms: 0,
};
const CALM = { running: 0, waiting: 0, runsPerMinute: 0, slots: 10 };
const NOW = Date.UTC(2026, 0, 1);
const OUTCOMES: Readonly<Record<string, string | null>> = {
  s: "SUCCESS",
  f: "FAILED",
  t: "TIMED_OUT",
  c: "CANCELLED",
  r: null,
};

/**
 * Attempts that began minute by minute, written oldest first: `s` success, `f` failure …; those of one run stand in
 * brackets.
 */
function attempts(marks: string) {
  let run = 0;
  let within = false;
  const all = [];
  for (const mark of marks) {
    if (mark === "(" || mark === ")") {
      within = mark === "(";
      run += 1;
      continue;
    }
    if (!within) run += 1;
    all.push({
      id: String(all.length),
      outcome: OUTCOMES[mark] ?? null,
      startedAt: new Date(NOW + all.length * 60_000).toISOString(),
      run: { id: String(run) },
    });
  }
  return all.reverse();
}

test.each([
  ["ssfff", 3, 2, false],
  ["sfsf", 1, 3, false],
  ["fft", 3, 0, true],
  ["sfcfr", 2, 1, false],
  ["s(fff)f", 2, 1, false],
  ["ss", 0, null, false],
  ["r", 0, null, true],
])("of %s %i runs have failed in a row since minute %s", (marks, failures, minute, longer) => {
  const since = minute === null ? null : new Date(NOW + minute * 60_000).toISOString();
  expect(streakOf(attempts(marks))).toEqual({ failures, since, longer });
});

test("attempts whose runs are gone count each", () => {
  const gone = attempts("s(ff)").map((attempt) => ({ ...attempt, run: null }));
  expect(streakOf(gone).failures).toBe(2);
});

/** Attempts as above, a second long; a node for each mark. */
function placed(marks: string, nodes: string) {
  return attempts(marks).map((attempt, index, all) => ({
    ...attempt,
    completedAt: new Date(Date.parse(attempt.startedAt) + 1_000).toISOString(),
    node: nodes[all.length - 1 - index] ?? "",
  }));
}

test.each([
  // Changed at the minute before the first failure, while the success ran, and after the first failure.
  ["sff", "aaa", 0.5, true, null],
  ["sff", "aaa", 0.01, false, null],
  ["sff", "aaa", 1.5, false, null],
  // The success was on another node; one failure on the same node clears the node.
  ["ssff", "abcc", -5, false, "b"],
  ["sff", "aab", -5, false, null],
  ["scf", "aab", -5, false, "a"],
  // Without a success there is nothing to compare with.
  ["ff", "ab", 0.5, false, null],
  ["s", "a", 0.5, false, null],
])(
  "before %s on nodes %s with a change at minute %d it is said: edited %s, the good node %s",
  (marks, nodes, minute, edited, goodNode) => {
    expect(changesOf(placed(marks, nodes), new Date(NOW + minute * 60_000).toISOString())).toEqual({
      edited,
      goodNode,
    });
  },
);

test.each([
  [NONE, null, "All is well"],
  [NONE, CALM, "All is well: the queue is empty"],
  [NONE, { running: 3, waiting: 0, runsPerMinute: 9, slots: 10 }, "All is well: 3 running, the queue is empty"],
  [NONE, { running: 3, waiting: 60, runsPerMinute: 90, slots: 10 }, "All is well: the queue drains in about 40 s"],
  [
    { ...NONE, failing: 3, late: 1 },
    { running: 3, waiting: 60, runsPerMinute: 90, slots: 10 },
    "3 tasks fail, 1 task is late; the queue drains in about 40 s",
  ],
  [{ ...NONE, failing: 1 }, { running: 0, waiting: 7, runsPerMinute: 0, slots: 0 }, "1 task fails; 7 waiting"],
  // There are slots for them: they wait for their time.
  [NONE, { running: 3, waiting: 1, runsPerMinute: 90, slots: 10 }, "All is well: 1 waiting"],
  [{ ...NONE, errors: 2, failedJobs: 1 }, null, "2 errors in 1 job within the last hour"],
  [{ ...NONE, alarms: 2, late: 1 }, null, "2 alarms fire, 1 task is late"],
  [{ ...NONE, failedShare: 0.25 }, null, "25 % of the executions of 24 h failed"],
  // The server counts no further: when so many are done nobody knows.
  [NONE, { running: 0, waiting: 10_001, runsPerMinute: 100, slots: 10 }, "All is well: 10,000+ waiting"],
  [
    { ...NONE, failing: 10_001, late: 2, blocked: 1, stalledNodes: 1, lostNodes: 2, people: 1 },
    null,
    "10,000+ tasks fail, 2 tasks are late, 1 paused group holds runs back, 1 node makes no progress, 2 nodes were lost, 1 run waits for somebody",
  ],
])("%o with %o is said as '%s'", (troubles, pace, text) => {
  expect(headline(troubles, pace)).toBe(text);
});

test("what nobody has to do with is good, what waits for somebody a warning, what fails is bad", () => {
  expect(toneOf(NONE)).toBe("good");
  expect(toneOf({ ...NONE, people: 1 })).toBe("warn");
  expect(toneOf({ ...NONE, alarms: 1 })).toBe("bad");
  expect(toneOf({ ...NONE, errors: 1, failedJobs: 1 })).toBe("warn");
  expect(toneOf({ ...NONE, failedShare: 0.1 })).toBe("bad");
  expect(toneOf({ ...NONE, late: 1, failing: 1 })).toBe("bad");
});

test.each([
  [null, 0, null],
  [0.5, 19, null],
  [0.96, 2_000, null],
  [0.75, 2_000, 0.25],
])("of a success rate of %s with %d failures %s is said to have failed", (rate, failed, share) => {
  expect(failedShare(rate, failed, failed)).toBe(share);
});

test("failures with errors that people know of do not count in the share", () => {
  expect(failedShare(0.75, 2_000, 1_000)).toBe(0.125);
  expect(failedShare(0.75, 2_000, 10)).toBeNull();
  expect(failedShare(0.75, 2_000, 0)).toBeNull();
});

test("a lost node matters for an hour unless it is back or dismissed, one that makes no progress until it does", () => {
  const node = (id: string, state: string, age: number) => ({
    id,
    name: `node ${id}`,
    state,
    heartbeatAt: new Date(NOW - age).toISOString(),
  });
  const nodes = [node("1", "EXPIRED", 60_000), node("2", "EXPIRED", LOST_FOR), node("3", "STALLED", LOST_FOR * 2)];
  expect(nodesInTrouble(nodes, [], [], NOW)).toEqual([nodes[0], nodes[2]]);
  expect(nodesInTrouble(nodes, [{ name: "node 1" }], [], NOW)).toEqual([nodes[2]]);
  expect(nodesInTrouble(nodes, [], ["1", "3"], NOW)).toEqual([nodes[2]]);
});

test("a paused group without runs holds nothing back", () => {
  const group = (waiting: number, scheduled: number, stuck: number) => ({ waiting, scheduled, stuck });
  expect(blockedGroups([group(0, 0, 0), group(0, 1, 0), group(0, 0, 1)])).toHaveLength(2);
});
