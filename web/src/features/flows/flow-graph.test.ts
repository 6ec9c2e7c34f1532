import { expect, test } from "vitest";
import { boxesOfJobs, boxesOfRuns, boxState, type FlowJob, type FlowRun, sizeOf } from "./flow-graph";
import { BOX, type FlowLayout, layoutOf } from "./flow-layout";

const run = (id: string, key: string, after: readonly string[] = [], state = "SUCCESS", jobName = "job"): FlowRun => ({
  id,
  key,
  jobName,
  state,
  after,
});

function left(drawn: FlowLayout, id: string): number {
  const corner = drawn.corners.get(id);
  if (corner === undefined) throw new Error(`no box ${id}`);
  return corner.x;
}

test("each run stands behind all that it comes after, and no two boxes overlap", () => {
  const boxes = boxesOfRuns([
    run("4", "mail", ["1", "3"]),
    run("1", "a"),
    run("2", "b"),
    run("3", "merge", ["1", "2"]),
  ]);
  const drawn = layoutOf(boxes);
  expect(drawn.lines.map(({ from, to }) => `${from}-${to}`).sort()).toEqual(["1-3", "1-4", "2-3", "3-4"]);
  for (const { from, to, points } of drawn.lines) {
    expect(left(drawn, to)).toBeGreaterThan(left(drawn, from) + BOX.width);
    expect(points.length).toBeGreaterThan(1);
  }
  const corners = [...drawn.corners.values()];
  for (const one of corners) {
    expect(one.x >= 0 && one.y >= 0 && one.x + BOX.width <= drawn.width && one.y + BOX.height <= drawn.height).toBe(
      true,
    );
    expect(
      corners.some(
        (other) => other !== one && Math.abs(other.x - one.x) < BOX.width && Math.abs(other.y - one.y) < BOX.height,
      ),
    ).toBe(false);
  }
});

test("jobs are drawn as their runs are, and not behind themselves", () => {
  const job = (jobName: string, after: readonly string[], counts: Readonly<Record<string, number>>): FlowJob => ({
    jobName,
    after,
    counts: new Map(Object.entries(counts)),
  });
  const boxes = boxesOfJobs([
    job("begin", [], { SUCCESS: 1 }),
    job("part", ["begin", "part"], { SUCCESS: 9_997, FAILED: 1 }),
    job("end", ["part"], { SKIPPED: 1 }),
  ]);
  expect(boxes.map((box) => [box.title, sizeOf(box), boxState(box)])).toEqual([
    ["begin", 1, "SUCCESS"],
    ["part", 9_998, "FAILED"],
    ["end", 1, "SKIPPED"],
  ]);
  const drawn = layoutOf(boxes);
  expect(drawn.lines).toHaveLength(2);
  expect(left(drawn, "begin") < left(drawn, "part") && left(drawn, "part") < left(drawn, "end")).toBe(true);
});

test("neither runs that are not read nor circles nor long chains stop it", () => {
  expect(layoutOf(boxesOfRuns([run("2", "b", ["1"])])).lines).toEqual([]);
  expect(layoutOf(boxesOfRuns([run("1", "a", ["2"]), run("2", "b", ["1"])])).corners.size).toBe(2);
  expect(
    layoutOf(
      boxesOfRuns(
        Array.from({ length: 100 }, (_, index) =>
          run(String(index), `k${index}`, index === 0 ? [] : [String(index - 1)]),
        ),
      ),
    ).lines,
  ).toHaveLength(99);
  expect(layoutOf([])).toMatchObject({ width: 0, height: 0, lines: [] });
});

test("of very many lines those are left out that follow from others", () => {
  const each = Array.from({ length: 100 }, (_, index) =>
    run(
      String(index),
      `k${index}`,
      Array.from({ length: index }, (__, before) => String(before)),
    ),
  );
  const drawn = layoutOf(boxesOfRuns(each));
  expect(drawn.lines.map(({ from, to }) => Number(to) - Number(from))).toEqual(Array.from({ length: 99 }, () => 1));
});
