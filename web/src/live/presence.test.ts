import { expect, test } from "vitest";
import { serverIsThere } from "./presence";

/** Whether the server counts as there when it answers this. */
function answered(status: number, body = ""): Promise<boolean> {
  return serverIsThere(() => Promise.resolve(new Response(body, { status })));
}

test("a server that is ready is there, and so is one whose node takes no runs", async () => {
  expect(await answered(200, '{"ready":true,"status":"ready"}')).toBe(true);
  expect(await answered(503, '{"ready":false,"status":"not dispatching"}')).toBe(true);
});

test("a server that starts or stops is away, and so is one of which only the gateway answers", async () => {
  expect(await answered(503, '{"ready":false,"status":"starting"}')).toBe(false);
  expect(await answered(502)).toBe(false);
  expect(await answered(504)).toBe(false);
});

test("where nobody answers it is away", async () => {
  expect(await serverIsThere(() => Promise.reject(new TypeError("Failed to fetch")))).toBe(false);
});

test("a proxy that does not let the address pass says nothing of the server behind it", async () => {
  expect(await answered(404)).toBe(true);
  expect(await answered(401)).toBe(true);
});
