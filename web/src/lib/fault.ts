/** What the server says about a schedule that it refuses. */
export interface Fault {
  readonly message: string;
  readonly field: string | null;
  readonly position: number | null;
  readonly suggestion: string | null;
}

/** The text in three parts, so that the faulty one can be marked: it begins at `position` and ends with its item. */
export function splitAtFault(
  value: string,
  position: number | null,
): readonly [before: string, fault: string, after: string] {
  if (position === null || position < 0 || position > value.length) return ["", value, ""];
  const rest = value.slice(position);
  const length = /^[^\s,]+/.exec(rest)?.[0].length ?? Math.min(1, rest.length);
  return [value.slice(0, position), rest.slice(0, length), rest.slice(length)];
}

/** Whether the fault lies in the field of the time zone: a zone may also be written behind the value. */
export function isAtZone(fault: Fault | null): boolean {
  return fault?.field === "timezone" && fault.position === null;
}

/** A message without the name of the form's field, under which it stands anyway. */
export function withoutField(message: string, field: string): string {
  return message.replace(`${field}: `, "");
}

/** What the server refused, and the field of its input that is at fault, if it is one. */
interface Refusal {
  readonly message: string;
  readonly path: readonly string[];
}

/**
 * A refusal as a sentence for people, who know nothing of the input: `maxRunning: must be …` is said as `Max running
 * must be …`, and `name: there is no task 'a'` as `There is no task 'a'`.
 */
export function refusalText({ message, path }: Refusal): string {
  const rest = message.replace(/^[a-z][\w.[\]]*: /, "");
  const name = path.at(-1);
  if (name === undefined || rest === message) return message;
  const text = /^(must|can|is)/.test(rest) ? `${name.replace(/[A-Z]/g, " $&").toLowerCase()} ${rest}` : rest;
  return text.replace(/^./, (letter) => letter.toUpperCase());
}
