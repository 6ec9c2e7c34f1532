import { afterEach, beforeEach, expect, test, vi } from "vitest";

const gone: string[] = [];
let signIn: typeof import("./sign-in");

beforeEach(async () => {
  gone.length = 0;
  vi.stubGlobal("location", { pathname: "/jobs", search: "?q=quick", assign: (url: string) => void gone.push(url) });
  vi.resetModules();
  signIn = await import("./sign-in");
});

afterEach(() => void vi.unstubAllGlobals());

test("who is signed in no more is led to the page of sign-in once, and back", () => {
  void signIn.signInAgain();
  void signIn.signInAgain();
  expect(gone).toEqual(["/login?ended&next=%2Fjobs%3Fq%3Dquick"]);
});

test("what is refused while another session is on its way goes on with that one", async () => {
  let arrive = (): void => undefined;
  const work = signIn.renewing(new Promise<void>((resolve) => (arrive = resolve)));
  const refused = signIn.signInAgain();
  arrive();
  await Promise.all([work, refused]);
  expect(gone).toEqual([]);
  void signIn.signInAgain();
  expect(gone).toHaveLength(1);
});

test("what gives no session after all is told to who asked for it, and one is led to sign in at the next refusal", async () => {
  const work = signIn.renewing(Promise.reject(new Error("This is not your password.")));
  const refused = signIn.signInAgain();
  await expect(work).rejects.toThrow("not your password");
  await refused;
  void signIn.signInAgain();
  expect(gone).toHaveLength(1);
});

test("who signs out is not told that the sign-in has ended", () => {
  signIn.leaves();
  void signIn.signInAgain();
  expect(gone).toEqual([]);
});
