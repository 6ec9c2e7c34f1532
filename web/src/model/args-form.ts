/** The form of a job's arguments: what is typed, what it means, and what is wrong with it. Pure. */
import { type ArgField, readArg, writeArg } from "../lib/args-schema";

/** What is typed, by field. */
export type ArgTexts = Readonly<Record<string, string>>;

/** How the arguments are written into their fields. */
export function argTexts(fields: readonly ArgField[], args: Readonly<Record<string, unknown>>): ArgTexts {
  return Object.fromEntries(fields.map((field) => [field.name, writeArg(field, args[field.name])]));
}

/** What the fields mean: the arguments, or what is wrong by field. Arguments without a field are kept as they are. */
export function readArgTexts(
  fields: readonly ArgField[],
  texts: ArgTexts,
  others: Readonly<Record<string, unknown>> = {},
): { readonly args: Record<string, unknown>; readonly faults: Readonly<Record<string, string>> } {
  const args: Record<string, unknown> = { ...others };
  const faults: Record<string, string> = {};
  for (const field of fields) {
    const read = readArg(field, texts[field.name] ?? "");
    delete args[field.name];
    if ("error" in read) faults[field.name] = read.error;
    else if (read.value !== undefined) args[field.name] = read.value;
    else if (field.required) faults[field.name] = "Must be given: it has no default";
  }
  return { args, faults };
}
