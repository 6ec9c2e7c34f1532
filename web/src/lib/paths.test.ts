import { expect, test } from "vitest";
import { paths, readPath } from "./paths";

test("plain pages", () => {
  expect(readPath("/")).toEqual({ name: "overview" });
  expect(readPath("/runs/")).toEqual({ name: "runs" });
  expect(readPath("/nowhere")).toEqual({ name: "unknown" });
  expect(readPath("/log/a/b")).toEqual({ name: "unknown" });
});

test("any task name survives the address", () => {
  const name = "50% of ünïcode & more?";
  expect(readPath(paths.task(name))).toEqual({ name: "task", task: name });
  expect(readPath("/tasks/50%")).toEqual({ name: "task", task: "50%" });
});

test("groups of failures are named by their fingerprints", () => {
  const group = { fingerprint: "0123456789abcdef", jobName: "a & b" };
  const path = paths.error(group, "7d");
  expect(path).toBe("/errors/0123456789abcdef?job=a+%26+b&range=7d");
  expect(readPath("/errors/0123456789abcdef")).toEqual({ name: "error", fingerprint: "0123456789abcdef" });
  expect(readPath("/errors/KeyError")).toEqual({ name: "unknown" });
});

test("executions are named by their number", () => {
  expect(readPath("/log/42")).toEqual({ name: "execution", id: "42" });
  expect(readPath("/log/x")).toEqual({ name: "unknown" });
});
