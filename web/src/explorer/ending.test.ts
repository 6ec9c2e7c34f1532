import type { Client, Sink } from "graphql-ws";
import { expect, test } from "vitest";
import { endingQuietly } from "./ending";

/** What a sink hears when the subscription below ends so. */
function heard(cause: unknown): unknown[] {
  const said: unknown[] = [];
  const below = { subscribe: (_: unknown, sink: Sink) => (sink.error(cause), () => undefined) } as unknown as Client;
  endingQuietly(below).subscribe(
    { query: "" },
    { next: () => said.push("next"), error: (error) => said.push(error), complete: () => said.push("complete") },
  );
  return said;
}

test("the end of a sign-in ends a subscription, and everything else is an error", () => {
  expect(heard({ code: 4401, reason: "Unauthorized" })).toEqual(["complete"]);
  expect(heard({ code: 1006 })).toEqual([{ code: 1006 }]);
  const fault = new Error("no");
  expect(heard(fault)).toEqual([fault]);
});
