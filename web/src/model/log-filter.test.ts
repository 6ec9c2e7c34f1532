import { describe, expect, test } from "vitest";
import type { ExecutionRow } from "../api/fragments";
import { countedByServer, isFiltered, logFilterInput, matchesLogFilter, readLogFilter } from "./log-filter";

const NOW = Date.UTC(2026, 0, 2);
function read(query: string) {
  return readLogFilter(new URLSearchParams(query));
}
const execution = {
  jobName: "import_orders",
  taskName: "nightly",
  outcome: "TIMED_OUT",
  trigger: "API",
  node: "evasive-einstein-1",
  errorMessage: "Upstream 503",
  run: { id: "7" },
  duration: 5.5,
} as ExecutionRow;

describe("in the address bar", () => {
  test("nonsense is left out", () => {
    expect(isFiltered(read("outcome=GREAT&range=2y&run=x&trigger=magic&over=long"))).toBe(false);
  });
  test("an unfiltered log asks for everything", () => expect(logFilterInput(read(""), NOW)).toBeNull());
});

describe("for the API", () => {
  test("each parameter becomes a condition", () => {
    expect(
      logFilterInput(read("job=imp&outcome=failures&trigger=API&run=7&q=503&range=24h&over=5s&under=1m"), NOW),
    ).toEqual({
      jobName: { contains: "imp" },
      outcome: { in: ["FAILED", "TIMED_OUT", "LOST"] },
      trigger: { eq: "API" },
      runId: { eq: "7" },
      or: [{ jobName: { contains: "503" } }, { taskName: { contains: "503" } }, { errorMessage: { contains: "503" } }],
      startedAt: { gte: "2026-01-01T00:00:00.000Z" },
      duration: { gt: 5, lt: 60 },
    });
  });
  test("group and owner are those of the run and of the task", () =>
    expect(logFilterInput(read("group=shop&owner=channel:42"), NOW)).toEqual({
      group: { eq: "shop" },
      owner: { eq: "channel:42" },
    }));
  test("running means without an outcome", () =>
    expect(logFilterInput(read("outcome=running"), NOW)).toEqual({ outcome: { isNull: true } }));
});

describe("for events", () => {
  test.each([
    "",
    "job=IMPORT",
    "outcome=failures",
    "outcome=TIMED_OUT",
    "task=nightly",
    "node=einstein",
    "run=7",
    "q=upstream",
    "q=orders",
    "q=NIGHT",
    "trigger=API",
    "over=5s",
    "under=6s&over=5",
    "over=long",
  ])("%s lets it in", (query) => expect(matchesLogFilter(read(query), execution)).toBe(true));
  test.each([
    "job=export",
    "outcome=running",
    "outcome=SUCCESS",
    "task=night",
    "node=curie",
    "run=8",
    "q=404",
    "trigger=RETRY",
    "over=6s",
    "under=5500ms",
  ])("%s keeps it out", (query) => expect(matchesLogFilter(read(query), execution)).toBe(false));
  test.each(["group=shop", "owner=channel:42"])(
    "%s leaves it to the server, unless something else keeps it out",
    (query) => {
      expect(matchesLogFilter(read(query), execution)).toBeNull();
      expect(matchesLogFilter(read(`${query}&job=export`), execution)).toBe(false);
    },
  );
  test("labels are those of the run: without them the server is asked", () => {
    const labelled = { ...execution, labels: { team: "a" } };
    expect(
      ["label=team:a", "label=team", "label=team:b"].map((query) => matchesLogFilter(read(query), labelled)),
    ).toEqual([true, true, false]);
    expect(matchesLogFilter(read("label=team:a"), execution)).toBeNull();
    expect(logFilterInput(read("label=team:a"), NOW)).toEqual({ labels: { key: "team", eq: "a" } });
  });
  test("a running one is no failure", () => {
    expect(matchesLogFilter(read("outcome=failures"), { ...execution, outcome: null })).toBe(false);
  });
  test("a running one has not lasted any time yet", () => {
    expect(
      ["over=1s", "under=1h"].map((query) => matchesLogFilter(read(query), { ...execution, duration: null })),
    ).toEqual([false, false]);
  });
});

test("the server's statistics are used only where they know the whole filter", () => {
  const counted = (search: string): boolean => countedByServer(readLogFilter(new URLSearchParams(search)));
  expect(["", "task=a&range=6h"].map(counted)).toEqual([true, true]);
  expect(
    [
      "job=a",
      "outcome=failures",
      "node=n",
      "trigger=API",
      "q=x",
      "over=5s",
      "run=7",
      "group=g",
      "owner=o",
      "label=k:v",
    ].map(counted),
  ).not.toContain(true);
});
