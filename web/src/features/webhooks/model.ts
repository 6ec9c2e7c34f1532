/** What a webhook sends, in the words of its form. Pure. */
import READY from "../../../../graphql/client/webhook_documents.json";

/** The ready-made documents, by their names. */
export const DOCUMENTS: Readonly<Record<string, string>> = READY;

/** What a webhook has instead of a ready-made document. */
export const OWN = "own";

/** The name of the ready-made document that a text is, or `OWN`. */
export function documentName(text: string): string {
  const found = Object.entries(DOCUMENTS).find(([, each]) => each === text.trim());
  return found?.[0] ?? OWN;
}

/** What stands in the field of variables; nothing, if there are none. */
export function variablesText(variables: unknown): string {
  const isEmpty = Object.keys((variables as object | null) ?? {}).length === 0;
  return isEmpty ? "" : JSON.stringify(variables);
}

/** The variables that a text says: an object, null for none; undefined if it is neither. */
export function readVariables(text: string): Readonly<Record<string, unknown>> | null | undefined {
  if (text.trim() === "") return null;
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    // It is no JSON; the field says so.
    return undefined;
  }
}

/** A new secret as Standard Webhooks has it: 24 random bytes. */
export function newSecret(random: Uint8Array = crypto.getRandomValues(new Uint8Array(24))): string {
  return `whsec_${btoa(String.fromCharCode(...random))}`;
}

/** The most secrets of a webhook. */
const MOST_SECRETS = 3;

/** The secrets of a webhook after a rotation: the new one signs beside the last ones. */
export function rotated(secrets: readonly string[], added: string): string[] {
  return [added, ...secrets.filter((each) => each !== added)].slice(0, MOST_SECRETS);
}

/** A name for a new secret of a webhook that none of the known ones has. */
export function secretName(webhook: string, known: readonly string[]): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? `${webhook}-key` : `${webhook}-key-${number}`;
    if (!known.includes(name)) return name;
  }
}
