import { expect, test } from "vitest";
import { boxState, flowGraph, type FlowRun } from "./flow-graph";

const run = (id: string, key: string, after: readonly string[] = [], state = "SUCCESS", jobName = "job"): FlowRun => ({ id, key, jobName, state, after });

test("each run stands one layer behind the last that it comes after", () => {
  const graph = flowGraph([run("4", "mail", ["1", "3"]), run("1", "a"), run("2", "b"), run("3", "merge", ["1", "2"])]);
  expect(graph.boxes.map(({ title, layer }) => [title, layer])).toEqual([["mail", 2], ["a", 0], ["b", 0], ["merge", 1]]);
  expect([graph.layers, graph.rows]).toEqual([3, 2]);
  expect(graph.edges.map(([from, to]) => `${from.title}-${to.title}`)).toEqual(["a-mail", "merge-mail", "a-merge", "b-merge"]);
});

test("of many runs those of one job and layer share a box", () => {
  const parts = ["2", "3", "4"].map((id) => run(id, `part ${id}`, ["1"], id === "3" ? "FAILED" : "SUCCESS", "part"));
  const graph = flowGraph([run("1", "begin"), ...parts, run("5", "end", ["2", "3", "4"])], 3);
  expect(graph.boxes.map(({ title, runs }) => [title, runs.length])).toEqual([["begin", 1], ["part", 3], ["end", 1]]);
  expect(graph.edges).toHaveLength(2);
  expect(graph.boxes.map(boxState)).toEqual(["SUCCESS", "FAILED", "SUCCESS"]);
});

test("neither runs that are not read nor circles nor long chains stop it", () => {
  expect(flowGraph([run("2", "b", ["1"])]).boxes).toMatchObject([{ layer: 0 }]);
  expect(flowGraph([run("1", "a", ["2"]), run("2", "b", ["1"])]).boxes).toHaveLength(2);
  expect(flowGraph(Array.from({ length: 200 }, (_, index) => run(String(index), `k${index}`, index === 0 ? [] : [String(index - 1)])), 1_000).layers).toBe(200);
  expect(flowGraph([])).toEqual({ boxes: [], edges: [], layers: 0, rows: 0 });
});
