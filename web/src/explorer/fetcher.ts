import { createGraphiQLFetcher, type Fetcher } from "@graphiql/toolkit";
import { createClient } from "graphql-ws";
import { keepingEvents } from "./last-events";

/** Queries and mutations by POST, subscriptions by WebSocket: both at `/graphql` of the server that sent this page. */
export function makeFetcher(location: Location): Fetcher {
  const httpUrl = new URL("/graphql", location.href);
  const socketUrl = new URL(httpUrl);
  socketUrl.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  const fetcher = createGraphiQLFetcher({
    url: httpUrl.href,
    wsClient: createClient({ url: socketUrl.href, lazy: true, retryAttempts: 10 }),
    enableIncrementalDelivery: false,
  });
  return keepingEvents(fetcher);
}
