/** What somebody answers to a run that waits for a signal. Pure. */
import type { UserError } from "../api/mutate";
import { titledFields } from "../lib/args-schema";

/** The member that holds an answer of one value, in the form. */
const ONE = "answer";

/** What a form asks for. */
export interface Questions {
  /** A JSON Schema of an object, as a form of arguments has one. */
  readonly schema: unknown;
  /** Whether its one member is the whole answer. */
  readonly single: boolean;
}

/** The questions of a wait; null where no form can ask: the answer is any JSON. */
export function questionsOf(form: unknown): Questions | null {
  if (titledFields(form).length > 0) return { schema: form, single: false };
  if (typeof form !== "object" || form === null) return null;
  const schema = { ...form, type: "object", properties: { [ONE]: { title: "Answer", ...form } }, required: [ONE] };
  const [field] = titledFields(schema);
  return field === undefined || field.kind === "json" ? null : { schema, single: true };
}

/** What is sent of the object that the form has made. */
export function answerOf({ single }: Questions, value: unknown): unknown {
  return single ? (value as Readonly<Record<string, unknown>>)[ONE] : value;
}

/** What the server said of the payload, with the paths that its fields have in the form. */
export function atFields({ single }: Questions, errors: readonly UserError[]): readonly UserError[] {
  return errors.map((error) =>
    error.path[0] === "payload"
      ? { ...error, path: ["args", ...(single ? [ONE] : []), ...error.path.slice(1)] }
      : error,
  );
}

/** What is typed as a value; nothing typed is no value. */
export function readAnswer(text: string): { readonly value: unknown } | { readonly error: string } {
  if (text.trim() === "") return { value: undefined };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return {
      error: `Not valid JSON; text needs quotation marks: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}
