// @vitest-environment happy-dom
import { h, options, render } from "preact";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lazy } from "./lazy";

/** What Preact would do after a frame; a test decides when. */
let effects: (() => void)[] = [];

beforeEach(() => {
  options.requestAnimationFrame = (run) => void effects.push(run);
});

afterEach(() => {
  render(null, document.body);
  delete options.requestAnimationFrame;
  effects = [];
});

/** Renders that are due and modules that have come are done; effects wait. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  await new Promise((done) => setTimeout(done));
}

async function frame(): Promise<void> {
  for (const run of effects.splice(0)) run();
  await settled();
}

/** A page whose code comes when the test says so. */
function page() {
  let arrive = (): void => undefined;
  const code = new Promise<() => string>((resolve) => (arrive = () => resolve(() => "the page")));
  return { Page: lazy(() => code, "part"), arrive };
}

test("a page is shown when its code comes after it was asked for", async () => {
  const { Page, arrive } = page();
  render(h(Page, {}), document.body);
  await frame();
  expect(document.body.textContent).not.toContain("the page");
  arrive();
  await settled();
  expect(document.body.textContent).toContain("the page");
});

test("a page is shown when its code comes between its first render and the effects of that render", async () => {
  const { Page, arrive } = page();
  Page.preload();
  render(h(Page, {}), document.body);
  arrive();
  await settled();
  await frame();
  expect(document.body.textContent).toContain("the page");
});

test("a page whose code is there is shown at once", async () => {
  const { Page, arrive } = page();
  Page.preload();
  arrive();
  await settled();
  render(h(Page, {}), document.body);
  expect(document.body.textContent).toContain("the page");
});
