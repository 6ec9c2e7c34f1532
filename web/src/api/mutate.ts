import { refusalText } from "../lib/fault";
import { notify } from "../state/announce";
import { request } from "./client";
import type { TadaDocumentNode } from "./tada";

/** A refusal that belongs to the data, such as an overlap: `path` names the input field. */
export interface UserError {
  readonly code: string;
  readonly message: string;
  readonly path: readonly string[];
}

/** Either what the server made, or why it did not. */
export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly errors: readonly UserError[] };

interface Payload {
  readonly errors: readonly UserError[];
}

/** Sends a mutation and takes its payload apart; a lost connection becomes an error like any other. */
export async function mutate<R, V, P extends Payload>(
  document: TadaDocumentNode<R, V>,
  variables: V,
  pick: (data: R) => P,
): Promise<Outcome<P>> {
  try {
    const payload = pick(await request(document, variables));
    return payload.errors.length === 0 ? { ok: true, value: payload } : { ok: false, errors: payload.errors };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { ok: false, errors: [{ code: "REQUEST_FAILED", message, path: [] }] };
  }
}

/** Says what was done, unless it was refused: for forms, which show a refusal themselves. */
export function announced<P>(outcome: Outcome<P>, done: string | ((payload: P) => string)): Outcome<null> {
  if (!outcome.ok) return outcome;
  notify(typeof done === "string" ? done : done(outcome.value));
  return { ok: true, value: null };
}

/** Shows what was refused, and why. */
export function complain(errors: readonly UserError[]): void {
  for (const error of errors) notify(refusalText(error), { tone: "bad" });
}

/** Shows the errors of a refused action; answers whether it went well. */
export function report<T>(outcome: Outcome<T>): outcome is { readonly ok: true; readonly value: T } {
  if (!outcome.ok) complain(outcome.errors);
  return outcome.ok;
}
