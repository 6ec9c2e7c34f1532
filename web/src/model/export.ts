/** The rows of a list as a file. Pure. */

type Row = Readonly<Record<string, unknown>>;

function isRecord(value: unknown): value is Row {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What is nested becomes columns of its own, `schedule.value`; an empty object is nothing. */
function flat(row: Row, before = ""): readonly (readonly [string, unknown])[] {
  return Object.entries(row).flatMap(([key, value]) =>
    isRecord(value) ? flat(value, `${before}${key}.`) : [[`${before}${key}`, value] as const],
  );
}

/** Spreadsheets take a text that begins like this for a formula, and would run it. */
const FORMULA = /^[=+\-@\t\r]/;

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text =
    typeof value === "string"
      ? value.replace(FORMULA, "'$&")
      : typeof value === "object"
        ? JSON.stringify(value)
        : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** CSV as RFC 4180 has it: a head, a line for each row, columns in the order in which they first come. */
export function asCsv(rows: readonly object[]): string {
  const lines = rows.map((row) => new Map(flat(row as Row)));
  const columns = [...new Set(lines.flatMap((line) => [...line.keys()]))];
  return [columns, ...lines.map((line) => columns.map((column) => line.get(column)))]
    .map((line) => `${line.map(cell).join(",")}\r\n`)
    .join("");
}

/** JSON as the API answered it. */
export function asJson(rows: readonly object[]): string {
  return `${JSON.stringify(rows, null, 2)}\n`;
}
