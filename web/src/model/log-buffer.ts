import { plainText } from "../lib/ansi";

/** The lines of a log as the page keeps them: chunks, so that a new line touches only the last one. */

export interface Line {
  readonly line: number;
  readonly at: string;
  readonly level: string;
  readonly message: string;
  readonly fields: unknown;
}

export interface Chunk {
  /** Number of the first line: the chunk's identity. */
  readonly first: number;
  readonly lines: readonly Line[];
}

export interface LogBuffer {
  /** The newest lines; older ones were dropped to keep the bound. */
  readonly chunks: readonly Chunk[];
  /** Number of the last line that arrived: the subscription resumes after it. */
  readonly last: number;
  /** How many lines the server dropped to keep its bound. */
  readonly cut: number;
  /** The end mark came: no further line will. */
  readonly ended: boolean;
}

/** A page draws the chunks in view: with small ones few lines are drawn beside those. */
export const CHUNK = 50;

/** How many lines are kept, the newest of more: as many as the server keeps. */
export const KEPT = 10_000;

export const EMPTY_LOG: LogBuffer = { chunks: [], last: 0, cut: 0, ended: false };

/** Appends what arrived; lines that are there already (after a reconnection) are not repeated. */
export function appendLines(buffer: LogBuffer, lines: readonly Line[], cut: number, ended: boolean): LogBuffer {
  const fresh = lines.filter((line) => line.line > buffer.last);
  if (fresh.length === 0 && cut === buffer.cut && ended === buffer.ended) return buffer;
  const chunks = [...buffer.chunks];
  let rest: readonly Line[] = fresh;
  const open = chunks.at(-1);
  if (open !== undefined && open.lines.length < CHUNK && rest.length > 0) {
    const room = CHUNK - open.lines.length;
    chunks[chunks.length - 1] = { first: open.first, lines: [...open.lines, ...rest.slice(0, room)] };
    rest = rest.slice(room);
  }
  for (let start = 0; start < rest.length; start += CHUNK) {
    const part = rest.slice(start, start + CHUNK);
    chunks.push({ first: part[0]?.line ?? 0, lines: part });
  }
  const kept = chunks.slice(Math.max(0, chunks.length - 1 - KEPT / CHUNK));
  return { chunks: kept, last: fresh.at(-1)?.line ?? buffer.last, cut, ended };
}

/** How many lines are kept here. */
export function keptLines({ chunks }: LogBuffer): number {
  return chunks.reduce((sum, { lines }) => sum + lines.length, 0);
}

/** The numbers of the lines that hold a text, in any case. */
export function linesWith({ chunks }: LogBuffer, text: string, least: string): readonly number[] {
  const wanted = text.toLowerCase();
  if (wanted === "") return [];
  return chunks
    .flatMap(({ lines }) => lines)
    .filter((line) => levelAtLeast(line.level, least))
    .filter((line) => `${plainText(line.message)}${fieldsText(line.fields)}`.toLowerCase().includes(wanted))
    .map(({ line }) => line);
}

/** A message that is a JSON object or list, indented; null for any other. */
export function foldedJson(text: string): string | null {
  if (!/^\s*[[{][\s\S]*[\]}]\s*$/.test(text)) return null;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return null;
  }
}

/** Levels from the least to the most urgent. */
export const LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] as const;

/** Whether a level is at least as urgent as another; unknown levels always show. */
export function levelAtLeast(level: string, least: string): boolean {
  const [have, want] = [
    LEVELS.indexOf(level as (typeof LEVELS)[number]),
    LEVELS.indexOf(least as (typeof LEVELS)[number]),
  ];
  return have < 0 || have >= want;
}

/** Longer lines are cut until somebody wants to see all of them. */
export const LONG_LINE = 8192;

/** The whole log as text, for a file. */
export function logText(lines: readonly Line[]): string {
  return (
    lines
      .map((line) => `${line.at} ${line.level.padEnd(8)} ${plainText(line.message)}${fieldsText(line.fields)}`)
      .join("\n") + (lines.length > 0 ? "\n" : "")
  );
}

/** Structured values behind a message: `rows=17 table="orders"`. */
export function fieldsText(fields: unknown): string {
  if (typeof fields !== "object" || fields === null) return "";
  const parts = Object.entries(fields).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return parts.length === 0 ? "" : ` ${parts.join(" ")}`;
}
