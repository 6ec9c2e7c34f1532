import { describe, expect, it } from "vitest";
import { at, readBase, within } from "./base";

describe("the place of the dashboard on its host", () => {
  it("is read from the page", () => {
    expect(readBase(null)).toBe("");
    expect(readBase({ getAttribute: () => "/" })).toBe("");
    expect(readBase({ getAttribute: () => "/ops/jobs/" })).toBe("/ops/jobs");
  });

  it("goes before paths, and off again", () => {
    expect(at("/runs?state=RUNNING", "/ops/jobs")).toBe("/ops/jobs/runs?state=RUNNING");
    expect(at("https://elsewhere.example/", "/ops")).toBe("https://elsewhere.example/");
    expect(within("/ops/jobs/runs/4", "/ops/jobs")).toBe("/runs/4");
    expect(within("/ops/jobs", "/ops/jobs")).toBe("/");
    expect(within("/ops/jobsheet", "/ops/jobs")).toBe("/ops/jobsheet");
    expect(within("/runs", "")).toBe("/runs");
  });
});
