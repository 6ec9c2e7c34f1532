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
  readonly chunks: readonly Chunk[];
  /** Number of the last line that arrived: the subscription resumes after it. */
  readonly last: number;
  /** How many lines the server dropped to keep its bound. */
  readonly cut: number;
  /** The end mark came: no further line will. */
  readonly ended: boolean;
}

export const CHUNK = 200;
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
  return { chunks, last: fresh.at(-1)?.line ?? buffer.last, cut, ended };
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

// Colours and cursor movements of terminals, which a browser would show as rubbish.
const ANSI = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/** A message without terminal codes. */
export function plainText(message: string): string {
  return message.replace(ANSI, "").replace(CONTROLS, "");
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
