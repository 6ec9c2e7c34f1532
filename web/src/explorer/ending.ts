import type { Client } from "graphql-ws";
import { closeCode, SIGNED_OUT } from "../lib/close-code";

/**
 * A client for one who is led away when signed in no more: a subscription then ends, where GraphiQL would throw what
 * nobody catches.
 */
export function endingQuietly(client: Client): Client {
  return {
    ...client,
    subscribe: (payload, sink) =>
      client.subscribe(payload, {
        ...sink,
        error: (cause) => (closeCode(cause) === SIGNED_OUT ? sink.complete() : sink.error(cause)),
      }),
  };
}
