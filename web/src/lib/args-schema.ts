/** The JSON Schema of a job's arguments, as far as a form can show it. */

export interface ArgField {
  readonly name: string;
  readonly kind: "text" | "number" | "integer" | "boolean" | "choice" | "json";
  readonly label: string;
  readonly hint: string;
  readonly required: boolean;
  readonly options: readonly unknown[];
  readonly default: unknown;
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

function kindOf(schema: Schema): ArgField["kind"] {
  if (Array.isArray(schema["enum"])) return "choice";
  switch (schema["type"]) {
    case "string":
      return "text";
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

/** The fields of the arguments, in the order of their declaration. */
export function argFields(schema: unknown): readonly ArgField[] {
  if (!isSchema(schema) || !isSchema(schema["properties"])) return [];
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(schema["properties"]).map(([name, raw]) => {
    const property = withoutNull(resolve(isSchema(raw) ? raw : {}, schema), schema);
    const options = Array.isArray(property["enum"]) ? property["enum"] : [];
    return {
      name,
      kind: kindOf(property),
      label: name,
      hint: hintOf(property),
      required: required.includes(name),
      options,
      default: property["default"],
    };
  });
}

function hintOf(schema: Schema): string {
  const parts: string[] = [];
  if (typeof schema["description"] === "string") parts.push(schema["description"]);
  if (schema["default"] !== undefined && schema["default"] !== null) parts.push(`${JSON.stringify(schema["default"])} unless given`);
  return parts.join("; ");
}

/** What a field's text means as a value; undefined = left to the default. */
export function readArg(field: ArgField, text: string): { readonly value: unknown } | { readonly error: string } {
  if (text === "") return { value: undefined };
  switch (field.kind) {
    case "text":
      return { value: text };
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
    case "json":
      try {
        return { value: JSON.parse(text) as unknown };
      } catch {
        return { error: "Must be JSON; text needs quotation marks" };
      }
  }
}

/** How a value is written into its field. */
export function writeArg(field: ArgField, value: unknown): string {
  if (value === undefined) return "";
  return field.kind === "json" ? JSON.stringify(value) : String(value);
}

/** Whether a value is an object with nothing in it: a job without arguments has these. */
export function isEmptyObject(value: unknown): boolean {
  return isSchema(value) && Object.keys(value).length === 0;
}

/** Whether two values of JSON say the same, whatever the order of their members. */
export function sameJson(left: unknown, right: unknown): boolean {
  return JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isSchema(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)).map(([name, one]) => [name, sorted(one)]));
}
