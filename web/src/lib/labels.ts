/** Labels: as the address bar names one (`team:billing`), as the API asks for it, as runs have them. */

/** One label, or, without a value, any of its key. */
export interface LabelWanted {
  readonly key: string;
  readonly value: string;
}

/** The `LabelFilter` of the API. */
export type LabelFilterInput = { key: string; eq: string } | { key: string; exists: true };

/** `team:billing`; a key has no colon, a value may have some. */
export function labelText(key: string, value: string): string {
  return `${key}:${value}`;
}

/** Reads what stands in the address; null if nothing does. */
export function readLabel(text: string): LabelWanted | null {
  if (text === "") return null;
  const colon = text.indexOf(":");
  return colon < 0 ? { key: text, value: "" } : { key: text.slice(0, colon), value: text.slice(colon + 1) };
}

/** The condition for the API: the label, or, without a value, any label of that key. */
export function labelInput(text: string): LabelFilterInput | null {
  const wanted = readLabel(text);
  if (wanted === null) return null;
  return wanted.value === "" ? { key: wanted.key, exists: true } : { key: wanted.key, eq: wanted.value };
}

/** The labels that the server sent, in the order of their keys. */
export function labelsOf(labels: unknown): readonly (readonly [key: string, value: string])[] {
  if (typeof labels !== "object" || labels === null) return [];
  return Object.entries(labels)
    .map(([key, value]) => [key, String(value)] as const)
    .sort(([left], [right]) => (left < right ? -1 : 1));
}

/** Whether these labels meet what the address asks for. */
export function hasLabel(labels: unknown, text: string): boolean {
  const wanted = readLabel(text);
  return (
    wanted === null ||
    labelsOf(labels).some(([key, value]) => key === wanted.key && (wanted.value === "" || value === wanted.value))
  );
}
