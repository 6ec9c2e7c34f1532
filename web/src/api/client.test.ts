import { afterEach, expect, test } from "vitest";
import { notices } from "../state/announce";
import { ApiError, dataBeside } from "./client";

const leftOut = { message: "table run, row id 7: column args cannot be read", extensions: { code: "UNREADABLE_ROW" } };

afterEach(() => {
  notices.value = [];
});

test("a row that a list leaves out is named once, and the others are shown", () => {
  const data = { runs: [1, 2] };
  expect(dataBeside(data, [leftOut])).toBe(data);
  expect(dataBeside(data, [leftOut])).toBe(data);
  expect(notices.value.map((one) => one.text)).toEqual([`A row was left out: ${leftOut.message}`]);
});

test("what was asked for and cannot be read is refused, as anything else is", () => {
  expect(() => dataBeside(null, [leftOut])).toThrow(ApiError);
  expect(() => dataBeside({ run: null }, [{ ...leftOut, path: ["run"] }])).toThrow(ApiError);
  expect(() => dataBeside({}, [leftOut, { message: "No" }])).toThrow("No");
});
