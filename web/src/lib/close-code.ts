/** The code with which the server closes the socket of one who is signed in no more. */
export const SIGNED_OUT = 4401;

/** The code with which a WebSocket was closed; null for what is no such event. */
export function closeCode(event: unknown): number | null {
  return typeof event === "object" && event !== null && "code" in event && typeof event.code === "number"
    ? event.code
    : null;
}
