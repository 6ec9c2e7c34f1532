import { createGraphiQLFetcher, type Fetcher } from "@graphiql/toolkit";
import { createClient } from "graphql-ws";

/** Queries and mutations by POST, subscriptions by WebSocket: both at `/graphql` of the server that sent this page. */
export function makeFetcher(location: Location): Fetcher {
  const httpUrl = new URL("/graphql", location.href);
  const socketUrl = new URL(httpUrl);
  socketUrl.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  return createGraphiQLFetcher({
    url: httpUrl.href,
    wsClient: createClient({ url: socketUrl.href, lazy: true, retryAttempts: 10 }),
    enableIncrementalDelivery: false,
  });
}
