/** The form of a job's arguments: what is typed, what it means, and what is wrong with it. Pure. */
import { type ArgField, type ItemTexts, itemTexts, readArg, readItems, valueAt, writeArg } from "../lib/args-schema";
import type { Zone } from "../lib/time";

/** What is typed, by field. */
export type ArgTexts = Readonly<Record<string, string>>;

type Args = Readonly<Record<string, unknown>>;

/** How the arguments are written into their fields. */
export function argTexts(fields: readonly ArgField[], args: Args, zone: Zone = "utc"): ArgTexts {
  return Object.fromEntries(fields.map((field) => [field.name, writeArg(field, valueAt(args, field.path), zone)]));
}

/**
 * What the fields mean: the arguments, or what is wrong by field. What has no field, and what was not changed, stays as
 * it is.
 */
export function readArgTexts(
  fields: readonly ArgField[],
  texts: ArgTexts,
  others: Args = {},
  zone: Zone = "utc",
): { readonly args: Record<string, unknown>; readonly faults: Readonly<Record<string, string>> } {
  let args: Record<string, unknown> = { ...others };
  const faults: Record<string, string> = {};
  const text = (field: ArgField): string => texts[field.name] ?? "";
  const begun = new Set(fields.filter((field) => text(field) !== "").flatMap((field) => field.within));
  for (const field of fields) {
    const before = valueAt(others, field.path);
    if (field.kind === "list" && text(field) !== "") {
      const list = readList(field, text(field), before, zone);
      args = withValue(args, field.path, list.value, field.within);
      Object.assign(faults, list.faults);
      continue;
    }
    if (before !== undefined && writeArg(field, before, zone) === text(field)) continue;
    const read = readArg(field, text(field), zone);
    const value = "error" in read ? undefined : read.value;
    args = withValue(args, field.path, value, field.within);
    if ("error" in read) faults[field.name] = read.error;
    else if (value === undefined && field.required && field.within.every((object) => begun.has(object)))
      faults[field.name] = "Must be given: it has no default";
  }
  return { args, faults };
}

/**
 * The items of a list, and what is wrong with them by item and field: `lines.0.amount`. An item that reads as one did
 * before is that one.
 */
function readList(
  field: ArgField,
  text: string,
  before: unknown,
  zone: Zone,
): { readonly value: readonly unknown[]; readonly faults: Readonly<Record<string, string>> } {
  const known: readonly unknown[] = Array.isArray(before) ? before : [];
  const knownTexts = itemTexts(field, known, zone).map((texts) => JSON.stringify(texts));
  const same = (texts: ItemTexts, read: unknown): unknown => known[knownTexts.indexOf(JSON.stringify(texts))] ?? read;
  const faults: Record<string, string> = {};
  const value = readItems(text).map((texts, place) => {
    const [only] = field.items;
    if (only?.name === "") {
      const read = readArg(only, texts[""] ?? "", zone);
      const one = "error" in read ? undefined : read.value;
      if ("error" in read) faults[`${field.name}.${place}`] = read.error;
      else if (one === undefined) faults[`${field.name}.${place}`] = "Fill it in, or remove it";
      return same(texts, one);
    }
    const read = readArgTexts(field.items, texts, {}, zone);
    for (const [name, fault] of Object.entries(read.faults)) faults[`${field.name}.${place}.${name}`] = fault;
    return same(texts, read.args);
  });
  return { value: value.filter((one) => one !== undefined), faults };
}

/**
 * The arguments with a value at its place, or without any there; an object that may be left out goes with its last
 * member.
 */
function withValue(
  args: Args,
  path: readonly string[],
  value: unknown,
  optional: readonly string[],
  above = "",
): Record<string, unknown> {
  const [first = "", ...rest] = path;
  const name = above === "" ? first : `${above}.${first}`;
  const { [first]: known, ...others } = args;
  // There is nothing to take away from what is not there.
  if (value === undefined && rest.length > 0 && (known === undefined || known === null)) return { ...args };
  let inner = value;
  if (rest.length > 0) {
    const object = withValue((known ?? {}) as Args, rest, value, optional, name);
    inner = Object.keys(object).length === 0 && (optional.includes(name) || known === undefined) ? undefined : object;
  }
  if (inner === undefined) return others;
  return known === undefined
    ? { ...args, [first]: inner }
    : Object.fromEntries(Object.entries(args).map(([key, each]) => [key, key === first ? inner : each]));
}

interface Refusal {
  readonly path: readonly string[];
  readonly message: string;
}

/**
 * What the server says of arguments, by field: its paths are such as `args`, `customer`, `city`. A path that leads
 * deeper than a field, or to none, belongs to what it begins with.
 */
export function argRefusals(fields: readonly ArgField[], errors: readonly Refusal[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    errors.flatMap(({ path, message }) => {
      const name = path.includes("args") ? placeOf(fields, path.slice(path.indexOf("args") + 1)) : null;
      return name === null ? [] : [[name, message]];
    }),
  );
}

/** The name of the field, or of the item of a list, that a path leads to. */
function placeOf(fields: readonly ArgField[], path: readonly string[]): string | null {
  const inside = path.join(".");
  const field = fields.find(({ name }) => inside === name || inside.startsWith(`${name}.`));
  if (field === undefined) return null;
  const [place, ...rest] = path.slice(field.path.length);
  if (field.kind !== "list" || place === undefined) return field.name;
  const inner = field.items[0]?.name === "" ? "" : placeOf(field.items, rest);
  return inner === null ? field.name : [field.name, place, inner].filter((part) => part !== "").join(".");
}
