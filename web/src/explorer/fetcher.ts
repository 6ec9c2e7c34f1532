import { createGraphiQLFetcher, type Fetcher } from "@graphiql/toolkit";
import { createClient } from "graphql-ws";
import { leaveToSignIn } from "../api/sign-in";
import { at } from "../lib/base";
import { closeCode, SIGNED_OUT } from "../lib/close-code";
import { endingQuietly } from "./ending";
import { keepingEvents } from "./last-events";

/** A request with the browser's session; once that has ended one is led to where one signs in, and back. */
async function ask(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  // A token that somebody has typed into the headers is his own to mend.
  if (response.status === 401 && !new Headers(init?.headers).has("authorization")) leaveToSignIn();
  return response;
}

/** Queries and mutations by POST, subscriptions by WebSocket: both at `/graphql` of the server that sent this page. */
export function makeFetcher(location: Location): Fetcher {
  const httpUrl = new URL(at("/graphql"), location.href);
  const socketUrl = new URL(httpUrl);
  socketUrl.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  const fetcher = createGraphiQLFetcher({
    url: httpUrl.href,
    fetch: ask,
    wsClient: endingQuietly(
      createClient({
        url: socketUrl.href,
        lazy: true,
        retryAttempts: 10,
        on: { closed: (event) => closeCode(event) === SIGNED_OUT && leaveToSignIn() },
      }),
    ),
    enableIncrementalDelivery: false,
  });
  return keepingEvents(fetcher);
}
