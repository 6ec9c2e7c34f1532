import { expect, test } from "vitest";
import { StripsWanted } from "./strips";

const of = (id: string, state: "SUCCESS" | "FAILED") => ({
  id,
  strip: { states: [state], at: [""], seconds: [null], reasons: [null], counts: [1] },
});

test("after the page only the tasks are asked for that something has happened to", () => {
  const wanted = new StripsWanted();
  wanted.note("2");
  expect(wanted.next()).toBeNull();
  const page = wanted.accept([of("1", "SUCCESS"), of("2", "SUCCESS")], null);
  wanted.note("2");
  expect(wanted.next()).toEqual(["2"]);
  const after = wanted.accept([of("2", "FAILED")], page);
  expect([...after.keys()]).toEqual(["1", "2"]);
  expect(after.get("2")?.[0]).toMatchObject({ state: "FAILED" });
  expect(after.get("1")).toBe(page.get("1"));
});

test("what was asked and not answered is asked again", () => {
  const wanted = new StripsWanted();
  wanted.next();
  const page = wanted.accept([], null);
  wanted.note("1");
  expect(wanted.next()).toEqual(["1"]);
  wanted.note("3");
  expect(wanted.next()).toEqual(["1", "3"]);
  expect([...wanted.accept([of("1", "SUCCESS"), of("3", "SUCCESS")], page).keys()]).toEqual(["1", "3"]);
});

test("after something was missed the page is asked for as a whole, and what it does not have is gone", () => {
  const wanted = new StripsWanted();
  wanted.next();
  const page = wanted.accept([of("1", "SUCCESS"), of("2", "SUCCESS")], null);
  wanted.note("2");
  wanted.everything();
  expect(wanted.next()).toBeNull();
  wanted.everything();
  expect([...wanted.accept([of("1", "SUCCESS")], page).keys()]).toEqual(["1"]);
  expect(wanted.next()).toBeNull();
});
