/** What a person is to look at before answering, by the rules of `shown_html` on the page for people. Pure. */

type Members = Readonly<Record<string, unknown>>;

/** An object is its members, a list of objects a table; `shown.json` is tried with both renderers. */
export type Shown =
  | { readonly kind: "nothing" }
  | { readonly kind: "members"; readonly members: readonly (readonly [string, Shown])[] }
  | { readonly kind: "table"; readonly names: readonly string[]; readonly rows: readonly (readonly string[])[] }
  | { readonly kind: "list"; readonly items: readonly string[] }
  | { readonly kind: "json"; readonly text: string }
  | { readonly kind: "text"; readonly text: string };

export function shownOf(value: unknown): Shown {
  if (value === null || value === undefined) return { kind: "nothing" };
  if (!isMembers(value) || Object.keys(value).length === 0) return inner(value);
  return { kind: "members", members: Object.entries(value).map(([name, one]) => [name, inner(one)]) };
}

function inner(value: unknown): Shown {
  if (Array.isArray(value) && value.length > 0) {
    if (value.every(isMembers)) {
      const names = [...new Set(value.flatMap((row) => Object.keys(row)))];
      return { kind: "table", names, rows: value.map((row) => names.map((name) => plain(row[name]))) };
    }
    if (!value.some(isNested)) return { kind: "list", items: value.map(plain) };
  }
  return isNested(value)
    ? { kind: "json", text: JSON.stringify(value, null, 2) }
    : { kind: "text", text: plain(value) };
}

function isNested(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

function isMembers(value: unknown): value is Members {
  return isNested(value) && !Array.isArray(value);
}

function plain(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "Yes" : "No";
  return isNested(value) ? oneLine(value) : String(value);
}

/** JSON with a space behind each comma and colon. Lines break between members only: text has none. */
function oneLine(value: unknown): string {
  return JSON.stringify(value, null, 1)
    .replace(/([[{])\n\s*/g, "$1")
    .replace(/\n\s*([\]}])/g, "$1")
    .replace(/\n\s*/g, " ");
}
