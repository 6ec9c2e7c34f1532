/** What a run needs at an engine, in few words, as it is shown and as it is typed. Pure. */

import { labelsOf } from "./labels";

export interface Resources {
  readonly cpus: number | null;
  /** Bytes; a text if it is more than numbers hold exactly. */
  readonly memory: number | string | null;
  readonly gpus: number | null;
  readonly image: string | null;
  readonly queue: string | null;
  /** Texts by name. */
  readonly options: unknown;
}

/** The input of mutations, which judge it. */
export type ResourcesInput = Readonly<Record<string, unknown>>;

const UNITS: readonly (readonly [string, number])[] = [
  ["TiB", 2 ** 40],
  ["GiB", 2 ** 30],
  ["MiB", 2 ** 20],
  ["KiB", 2 ** 10],
];
/** Pairs between commas, those within quotation marks left out. */
const PAIR = /(?:"(?:[^"\\]|\\.)*"|[^,])+/g;
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;
const MEMORY = /^(\d+(?:\.\d+)?)\s*([KMGT])i?B?$/i;

function memoryText(bytes: number): string {
  const [unit, size] = UNITS.find((one) => bytes % one[1] === 0) ?? ["", 1];
  return `${bytes / size}${unit}`;
}

function quoted(value: string): string {
  return /^$|^\s|[",]|\s$/.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : value;
}

function unquoted(value: string): string {
  return QUOTED.exec(value)?.[1]?.replace(/\\(["\\])/g, "$1") ?? value;
}

/** `gpus=2, memory=8GiB, account=physics, nodelist="a,b"`. */
export function resourcesText(resources: Resources): string {
  const { cpus, memory, gpus, image, queue, options } = resources;
  const named: readonly (readonly [string, string | number | null])[] = [
    ["cpus", cpus],
    ["memory", memory === null ? null : memoryText(Number(memory))],
    ["gpus", gpus],
    ["image", image === null ? null : quoted(image)],
    ["queue", queue === null ? null : quoted(queue)],
    ...labelsOf(options).map(([name, value]) => [name, quoted(value)] as const),
  ];
  return named.flatMap(([name, value]) => (value === null ? [] : [`${name}=${value}`])).join(", ");
}

/** What `gpus=2, memory=8GiB, account=physics` says (what has no name of its own is an option), or what is wrong. */
export function readResources(text: string): ResourcesInput | null | string {
  const found: Record<string, unknown> = {};
  const options: Record<string, string> = {};
  for (const pair of (text.match(PAIR) ?? []).map((each) => each.trim()).filter((each) => each !== "")) {
    const equals = pair.indexOf("=");
    const [name, value] = [pair.slice(0, Math.max(equals, 0)).trim(), pair.slice(equals + 1).trim()];
    if (name === "" || value === "") return `Write name=value, such as gpus=2, got '${pair}'`;
    if (name in found || name in options) return `'${name}' is given twice`;
    if (name === "image" || name === "queue") found[name] = unquoted(value);
    else if (name === "cpus" || name === "gpus" || name === "memory") {
      const [, count, letter] = name === "memory" ? (MEMORY.exec(value) ?? []) : [];
      const unit = UNITS.find(([word]) => word[0] === letter?.toUpperCase())?.[1];
      const number = unit === undefined ? Number(value) : Number(count) * unit;
      if (!(number > 0 && Number.isFinite(number)) || (name !== "cpus" && !Number.isInteger(number)))
        return `${name} must be a ${name === "cpus" ? "" : "whole "}number above 0, got '${value}'`;
      found[name] = number;
    } else options[name] = unquoted(value);
  }
  if (Object.keys(options).length > 0) found["options"] = options;
  return Object.keys(found).length === 0 ? null : found;
}
