import { at } from "../lib/base";

/** Milliseconds after which an answer is no longer waited for. */
const LONGEST_LOOK = 5_000;

/** What a gateway, or a server that starts or stops, answers instead of the server itself. */
const AWAY: ReadonlySet<number> = new Set([502, 503, 504]);

/** The word of a server that is there and answers, but whose node takes no runs. */
const ONLY_READS = "not dispatching";

/**
 * Whether a server is there that would take a WebSocket. Asked before one is opened: a browser makes a page that fails
 * to open WebSockets wait longer and longer (Chromium up to five seconds, for all pages of a process together), but
 * not a page that fails to fetch. What is not known to be away counts as there, such as behind a proxy that does not
 * let this address pass.
 */
export async function serverIsThere(ask: typeof fetch = fetch): Promise<boolean> {
  let response: Response;
  try {
    response = await ask(at("/health/ready"), { cache: "no-store", signal: AbortSignal.timeout(LONGEST_LOOK) });
  } catch {
    return false;
  }
  return !AWAY.has(response.status) || (await response.text()).includes(ONLY_READS);
}
