/** The JSON Schema of a job's arguments, as far as a form can show it. */
import { localInput, readTime, type Zone } from "./time";

export interface ArgField {
  /** Where its value stands among the arguments, such as `customer.city`. */
  readonly name: string;
  readonly path: readonly string[];
  readonly kind: "text" | "number" | "integer" | "boolean" | "choice" | "date" | "datetime" | "mixed" | "list" | "json";
  readonly label: string;
  readonly hint: string;
  readonly required: boolean;
  readonly options: readonly unknown[];
  readonly default: unknown;
  /** Objects around it that may be left out as a whole, by name. */
  readonly within: readonly string[];
  /** Of a list: what each of its items has; one field without a name where an item is one value. */
  readonly items: readonly ArgField[];
  /** Of a mixed one: the types of JSON that it takes. */
  readonly types: readonly string[];
  /** Whether a text may be so long that it gets several lines. */
  readonly long: boolean;
  /** Whether it is a question to somebody: its choices are all seen, and no secret answers it. */
  readonly asked: boolean;
}

type Schema = Readonly<Record<string, unknown>>;

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function resolve(schema: Schema, root: Schema): Schema {
  const ref = schema["$ref"];
  if (typeof ref !== "string" || !ref.startsWith("#/")) return schema;
  let target: unknown = root;
  for (const part of ref.slice(2).split("/")) target = isSchema(target) ? target[part] : undefined;
  return isSchema(target) ? { ...target, ...schema } : schema;
}

/** `anyOf: [{…}, {type: null}]` is how an optional value is written: the part that is not null counts. */
function withoutNull(schema: Schema, root: Schema): Schema {
  const anyOf = schema["anyOf"];
  if (!Array.isArray(anyOf)) return schema;
  const real = anyOf.filter((part): part is Schema => isSchema(part) && part["type"] !== "null");
  const [only] = real;
  return real.length === 1 && only !== undefined ? { ...resolve(only, root), ...schema, anyOf: undefined } : schema;
}

const SIMPLE: readonly unknown[] = ["string", "integer", "number", "boolean"];

/** The types that a value may have, if it may have several simple ones: a number or a text, say. */
function mixedTypes(schema: Schema): readonly string[] {
  const parts = Array.isArray(schema["anyOf"]) ? schema["anyOf"].filter((part): part is Schema => isSchema(part)) : [];
  const plain = parts.every((part) => part["enum"] === undefined && part["format"] === undefined);
  const types = Array.isArray(schema["type"]) ? schema["type"] : plain ? parts.map((part) => part["type"]) : [];
  const real = types.filter((type): type is string => typeof type === "string" && type !== "null");
  return real.length > 0 && real.every((type) => SIMPLE.includes(type)) ? real : [];
}

/** The only values that there are; none if there are others. */
function optionsOf(schema: Schema): readonly unknown[] {
  if (schema["const"] !== undefined) return [schema["const"]];
  return Array.isArray(schema["enum"]) ? schema["enum"] : [];
}

function kindOf(schema: Schema): ArgField["kind"] {
  if (optionsOf(schema).length > 0) return "choice";
  if (mixedTypes(schema).length > 0) return "mixed";
  switch (schema["type"]) {
    case "string":
      return schema["format"] === "date" ? "date" : schema["format"] === "date-time" ? "datetime" : "text";
    case "integer":
      return "integer";
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    default:
      return "json";
  }
}

/** A text that may have more characters gets several lines, as on the page for people. */
const LONG = 200;

/** Objects within objects are shown as fields so deep; what lies deeper, or has no declared members, is JSON. */
const DEEPEST = 3;

interface Place {
  readonly path: readonly string[];
  readonly within: readonly string[];
  /** How many objects and lists are around it. */
  readonly depth: number;
  readonly titled?: boolean;
}

/** The fields of the arguments, those of objects among them, in the order of their declaration. */
export function argFields(schema: unknown): readonly ArgField[] {
  return isSchema(schema) ? fieldsOf(schema, schema, { path: [], within: [], depth: 0 }) : [];
}

/** The same for people who do not know the code: each is called by the title that it has. */
export function titledFields(schema: unknown): readonly ArgField[] {
  if (!isSchema(schema)) return [];
  return fieldsOf(schema, schema, { path: [], within: [], depth: 0, titled: true });
}

function fieldsOf(object: Schema, root: Schema, place: Place): readonly ArgField[] {
  if (!isSchema(object["properties"])) return [];
  const { path, within, depth } = place;
  const required = Array.isArray(object["required"]) ? object["required"] : [];
  return Object.entries(object["properties"]).flatMap(([label, raw]) => {
    const property = withoutNull(resolve(isSchema(raw) ? raw : {}, root), root);
    const own = [...path, label];
    const name = own.join(".");
    const needed = required.includes(label);
    const inner = { ...place, path: own, within: needed ? within : [...within, name], depth: depth + 1 };
    const members = depth + 1 < DEEPEST && isClosed(property) ? fieldsOf(property, root, inner) : [];
    return members.length > 0 ? members : [fieldOf(property, root, { ...place, path: own }, needed)];
  });
}

/** The field of one value. */
function fieldOf(schema: Schema, root: Schema, place: Place, required: boolean): ArgField {
  const { path, within, depth, titled = false } = place;
  const items = depth + 1 < DEEPEST ? itemsOf(schema, root, { ...place, path: [], within: [], depth: depth + 1 }) : [];
  const title = titled && typeof schema["title"] === "string" ? schema["title"] : "";
  return {
    name: path.join("."),
    path,
    kind: items.length > 0 ? "list" : kindOf(schema),
    label: title || (path.at(-1) ?? ""),
    hint: hintOf(schema),
    required,
    options: optionsOf(schema),
    default: schema["default"],
    within,
    items,
    types: mixedTypes(schema),
    long: Number(schema["maxLength"] ?? 0) > LONG,
    asked: titled,
  };
}

/** What each item of a list has; nothing if it is no list, or one whose items a form cannot show. */
function itemsOf(schema: Schema, root: Schema, place: Place): readonly ArgField[] {
  if (schema["type"] !== "array" || !isSchema(schema["items"]) || schema["prefixItems"] !== undefined) return [];
  const item = withoutNull(resolve(schema["items"], root), root);
  if (isClosed(item)) return fieldsOf(item, root, place);
  const field = fieldOf(item, root, place, true);
  return field.kind === "json" || field.kind === "list" ? [] : [field];
}

/** Whether an object has the declared members alone: a form would hide the others. */
function isClosed(schema: Schema): boolean {
  return (
    schema["type"] === "object" &&
    (schema["additionalProperties"] === undefined || schema["additionalProperties"] === false)
  );
}

function hintOf(schema: Schema): string {
  const parts: string[] = [];
  if (typeof schema["description"] === "string") parts.push(schema["description"]);
  if (schema["default"] !== undefined && schema["default"] !== null)
    parts.push(`${JSON.stringify(schema["default"])} unless given`);
  return parts.join("; ");
}

/** How the text of a field begins that stands for a secret: nobody types this. */
const SECRET = "\uE000secret:";

/** The secret that a field's text stands for; null = none, "" = one that is still to be chosen. */
export function secretOf(text: string): string | null {
  return text.startsWith(SECRET) ? text.slice(SECRET.length) : null;
}

export function secretText(name: string): string {
  return SECRET + name;
}

/** The value of `{"$secret": "name"}`; null for any other. */
function secretNamed(value: unknown): string | null {
  const name = isSchema(value) && Object.keys(value).length === 1 ? value["$secret"] : undefined;
  return typeof name === "string" ? name : null;
}

/** What a field's text means as a value; undefined = left to the default. Times are written on the clock of `zone`. */
export function readArg(
  field: ArgField,
  text: string,
  zone: Zone = "utc",
): { readonly value: unknown } | { readonly error: string } {
  if (text === "") return { value: undefined };
  const secret = secretOf(text);
  if (secret !== null) return secret === "" ? { error: "Choose a secret" } : { value: { $secret: secret } };
  switch (field.kind) {
    case "text":
    case "date":
      return { value: text };
    case "datetime":
      return { value: readTime(text, zone) };
    case "number":
    case "integer": {
      const value = Number(text);
      if (!Number.isFinite(value) || (field.kind === "integer" && !Number.isInteger(value))) {
        return { error: `Must be ${field.kind === "integer" ? "a whole number" : "a number"}, got '${text}'` };
      }
      return { value };
    }
    case "boolean":
      return { value: text === "true" };
    case "choice":
      return { value: field.options.find((option) => String(option) === text) };
    case "mixed":
      return readMixed(field.types, text);
    case "list":
    case "json":
      try {
        return { value: JSON.parse(text) as unknown };
      } catch {
        return { error: "Must be JSON; text needs quotation marks" };
      }
  }
}

/**
 * A number, yes or no if the text is one and may be; else the text itself, for which `"5"` in quotation marks is not a
 * number.
 */
function readMixed(types: readonly string[], text: string): { readonly value: unknown } | { readonly error: string } {
  const value = parsed(text);
  const number =
    typeof value === "number" && (types.includes("number") || (types.includes("integer") && Number.isInteger(value)));
  if (number || (typeof value === "boolean" && types.includes("boolean"))) return { value };
  if (types.includes("string")) return { value: typeof value === "string" ? value : text };
  return { error: `Must be one of: ${types.join(", ")}; got '${text}'` };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Text without quotation marks is itself.
    return undefined;
  }
}

/** What is typed of one item of a list, by the names of its fields. */
export type ItemTexts = Readonly<Record<string, string>>;

/** What is typed of each item: the text of a list has them all. */
export function readItems(text: string): readonly ItemTexts[] {
  return text === "" ? [] : (JSON.parse(text) as readonly ItemTexts[]);
}

export function writeItems(items: readonly ItemTexts[]): string {
  return JSON.stringify(items);
}

/** How the items of a list are written into their fields. */
export function itemTexts(field: ArgField, value: unknown, zone: Zone): readonly ItemTexts[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  return items.map((one) =>
    Object.fromEntries(field.items.map((inner) => [inner.name, writeArg(inner, valueAt(one, inner.path), zone)])),
  );
}

/** How a value is written into its field. */
export function writeArg(field: ArgField, value: unknown, zone: Zone = "utc"): string {
  if (value === undefined || value === null) return field.kind === "json" && value === null ? "null" : "";
  const secret = secretNamed(value);
  if (secret !== null && field.kind !== "json") return secretText(secret);
  if (field.kind === "list") return writeItems(itemTexts(field, value, zone));
  if (field.kind === "mixed")
    return typeof value === "string" && parsed(value) !== undefined ? JSON.stringify(value) : String(value);
  if (field.kind === "datetime") return localInput(String(value), zone);
  return field.kind === "json" ? JSON.stringify(value) : String(value);
}

/** The value at a place among the arguments. */
export function valueAt(args: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, part) => (isSchema(value) ? value[part] : undefined), args);
}

const DATE = /^\d{4}-\d\d-\d\d$/;

/** Whether the fields can show these arguments; where not, they are edited as JSON. */
export function canShow(fields: readonly ArgField[], args: unknown): boolean {
  return fields.every((field) => {
    const around = field.path.slice(0, -1).map((_, index) => valueAt(args, field.path.slice(0, index + 1)));
    if (around.some((value) => value !== undefined && (!isSchema(value) || secretNamed(value) !== null))) return false;
    const value = valueAt(args, field.path);
    if (value === undefined || value === null) return true;
    // A field that is empty is left out of an item: one with a null would become another one.
    if (field.kind === "list")
      return (
        Array.isArray(value) &&
        value.every(
          (one) =>
            one !== null &&
            (isSchema(one) || field.items[0]?.name === "") &&
            !hasNull(one) &&
            showsAll(field.items, one) &&
            canShow(field.items, one),
        )
      );
    if (secretNamed(value) !== null) return true;
    if (field.kind === "date") return typeof value === "string" && DATE.test(value);
    if (field.kind === "datetime") return typeof value === "string" && !Number.isNaN(Date.parse(value));
    return field.kind === "json" || typeof value !== "object";
  });
}

/** Whether each member of an item has a field: what has none would be lost as soon as the item is changed. */
function showsAll(fields: readonly ArgField[], value: unknown, path: readonly string[] = []): boolean {
  if (!isSchema(value) || secretNamed(value) !== null) return true;
  return Object.entries(value).every(([label, one]) => {
    const own = [...path, label];
    const name = own.join(".");
    return (
      fields.some((field) => field.name === name) ||
      (fields.some((field) => field.name.startsWith(`${name}.`)) && showsAll(fields, one, own))
    );
  });
}

function hasNull(value: unknown): boolean {
  return isSchema(value) && Object.values(value).some((one) => one === null || hasNull(one));
}
