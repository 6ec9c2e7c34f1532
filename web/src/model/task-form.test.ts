import { describe, expect, test } from "vitest";
import { changedFields, type EditableTask, EMPTY_FORM, fieldOfPath, formOfTask, missing, readArgs } from "./task-form";

const task: EditableTask = {
  name: "nightly",
  jobName: "report",
  description: "",
  schedule: { syntax: "CRON", value: "0 0 2 * * *", timezone: "UTC" },
  args: { batch: 5 },
  group: "default",
  priority: "LOW",
  owner: null,
  resources: { cpus: null, memory: "8589934592", gpus: 2, image: null, queue: null, options: {} },
  labels: { team: "a" },
  rate: { limit: 100, per: 60, burst: 5 },
  overlap: "SKIP",
  misfire: "LAST",
  misfireGrace: 60,
  catchUpLimit: 100,
  tolerance: null,
  timeout: null,
  retries: 2,
  retryDelay: 60,
  jitter: 0,
  startAt: "2026-01-01T00:00:00Z",
  endAt: null,
};
const form = formOfTask(task, "utc");

describe("editing", () => {
  test("nothing changed means nothing sent", () =>
    expect(changedFields(form, form, "utc")).toEqual({ input: {}, errors: {} }));

  test("only changed fields are sent; emptied ones become the default", () => {
    const edited = {
      ...form,
      value: "0 0 3 * * *",
      timeout: "30",
      startAt: "",
      args: '{"batch": 7}',
      group: " reports ",
    };
    expect(changedFields(edited, form, "utc").input).toEqual({
      schedule: { syntax: "CRON", value: "0 0 3 * * *", timezone: "UTC" },
      timeout: 30,
      startAt: null,
      args: { batch: 7 },
      group: "reports",
    });
  });

  test("resources are written in words; none of them means those of the job", () => {
    expect(form.resources).toBe("memory=8GiB, gpus=2");
    const sent = (resources: string) => changedFields({ ...form, resources }, form, "utc");
    expect(sent("gpus=4, account=a").input).toEqual({ resources: { gpus: 4, options: { account: "a" } } });
    expect(sent("").input).toEqual({ resources: null });
    expect(sent("gpus").errors.resources).toContain("name=value");
  });

  test("labels are pairs; none of them means none", () => {
    expect(form.labels).toBe("team=a");
    expect(changedFields({ ...form, labels: " team=a, plan = pro=x ," }, form, "utc").input).toEqual({
      labels: { team: "a", plan: "pro=x" },
    });
    expect(changedFields({ ...form, labels: "" }, form, "utc").input).toEqual({ labels: {} });
    for (const wrong of ["team", "=a", "team=", "a=1, a=2"])
      expect(changedFields({ ...form, labels: wrong }, form, "utc").errors.labels).toBeDefined();
  });

  test("a rate is written in short; none of it means that of the job", () => {
    expect(form.rate).toBe("100/1m, 5 at once");
    expect(changedFields({ ...form, rate: "3/2h" }, form, "utc").input).toEqual({
      rate: { limit: 3, per: 7200, burst: null },
    });
    expect(changedFields({ ...form, rate: "" }, form, "utc").input).toEqual({ rate: null });
    expect(changedFields({ ...form, rate: "often" }, form, "utc").errors.rate).toBeDefined();
  });

  test("times are sent as UTC", () => {
    expect(changedFields({ ...form, endAt: "2026-05-01T12:30" }, form, "utc").input).toEqual({
      endAt: "2026-05-01T12:30:00Z",
    });
  });

  test("bad numbers and bad JSON are named at their field", () => {
    const { input, errors } = changedFields(
      { ...form, retries: "1.5", jitter: "-1", timeout: "soon", args: "[1]" },
      form,
      "utc",
    );
    expect(input).toEqual({});
    expect(Object.keys(errors).sort()).toEqual(["args", "jitter", "retries", "timeout"]);
  });
});

test("a new task needs a name, a job and a schedule", () => {
  expect(Object.keys(missing(EMPTY_FORM))).toEqual(["name", "jobName", "value"]);
  expect(missing({ ...EMPTY_FORM, name: "a", jobName: "b", value: "c" })).toEqual({});
});

test("arguments must be a JSON object", () => {
  expect(readArgs("")).toEqual({});
  expect(readArgs('{"a": 1}')).toEqual({ a: 1 });
  expect(readArgs("7")).toMatch("JSON object");
  expect(readArgs("{")).toMatch("Not valid JSON");
});

test("server errors find their field", () => {
  expect(fieldOfPath(["schedule", "value"])).toBe("value");
  expect(fieldOfPath(["input", "schedule", "timezone"])).toBe("timezone");
  expect(fieldOfPath(["args", "batch"])).toBe("args");
  expect(fieldOfPath([])).toBeNull();
  expect(fieldOfPath(["nonsense"])).toBeNull();
});
