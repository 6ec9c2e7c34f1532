import { expect, test } from "vitest";
import { boxState, type FlowJob, type FlowRun, graphOfJobs, graphOfRuns, sizeOf } from "./flow-graph";

const run = (id: string, key: string, after: readonly string[] = [], state = "SUCCESS", jobName = "job"): FlowRun => ({ id, key, jobName, state, after });

test("each run stands one layer behind the last that it comes after", () => {
  const graph = graphOfRuns([run("4", "mail", ["1", "3"]), run("1", "a"), run("2", "b"), run("3", "merge", ["1", "2"])]);
  expect(graph.boxes.map(({ title, layer }) => [title, layer])).toEqual([["mail", 2], ["a", 0], ["b", 0], ["merge", 1]]);
  expect([graph.layers, graph.rows]).toEqual([3, 2]);
  expect(graph.edges.map(([from, to]) => `${from.title}-${to.title}`)).toEqual(["a-mail", "merge-mail", "a-merge", "b-merge"]);
});

test("jobs stand in layers as their runs do, and not behind themselves", () => {
  const job = (jobName: string, after: readonly string[], counts: Readonly<Record<string, number>>): FlowJob => ({ jobName, after, counts: new Map(Object.entries(counts)) });
  const graph = graphOfJobs([job("begin", [], { SUCCESS: 1 }), job("part", ["begin", "part"], { SUCCESS: 9_997, FAILED: 1 }), job("end", ["part"], { SKIPPED: 1 })]);
  expect(graph.boxes.map((box) => [box.title, box.layer, sizeOf(box), boxState(box)])).toEqual([["begin", 0, 1, "SUCCESS"], ["part", 1, 9_998, "FAILED"], ["end", 2, 1, "SKIPPED"]]);
  expect(graph.edges).toHaveLength(2);
});

test("jobs in a circle stand behind each other once", () => {
  const counts = new Map([["SUCCESS", 2]]);
  const graph = graphOfJobs([{ jobName: "a", after: ["b"], counts }, { jobName: "b", after: ["a"], counts }]);
  expect(graph.boxes.map(({ title, layer }) => [title, layer])).toEqual([["a", 0], ["b", 1]]);
});

test("neither runs that are not read nor circles nor long chains stop it", () => {
  expect(graphOfRuns([run("2", "b", ["1"])]).boxes).toMatchObject([{ layer: 0 }]);
  expect(graphOfRuns([run("1", "a", ["2"]), run("2", "b", ["1"])]).boxes).toHaveLength(2);
  expect(graphOfRuns(Array.from({ length: 200 }, (_, index) => run(String(index), `k${index}`, index === 0 ? [] : [String(index - 1)]))).layers).toBe(200);
  expect(graphOfRuns([])).toEqual({ boxes: [], edges: [], layers: 0, rows: 0 });
});
