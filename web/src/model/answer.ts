/** What somebody answers to a run that waits for a signal. Pure. */
import { argFields } from "../lib/args-schema";

/** Whether the answer has fields that a form can show; else it is any JSON. */
export function hasFields(form: unknown): boolean {
  return argFields(form).length > 0;
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
