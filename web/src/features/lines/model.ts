/** A text with the places that were looked for. Pure. */

export interface Piece {
  readonly text: string;
  readonly hit: boolean;
}

/** A line is shown from so many characters before the first hit on, */
const BEFORE = 160;
/** and so far. */
const SHOWN = 600;

/** The pieces of a line around what was found in it, in any case; a long one is cut on both sides. */
export function pieces(line: string, wanted: string): readonly Piece[] {
  const [text, part] = [line.toLowerCase(), wanted.toLowerCase()];
  // Where a letter has another length in lower case, places do not agree: nothing is marked then.
  const first = text.length === line.length && part !== "" ? text.indexOf(part) : -1;
  const begin = Math.max(0, first - BEFORE);
  const end = Math.min(line.length, begin + SHOWN);
  const found: Piece[] = begin > 0 ? [{ text: "…", hit: false }] : [];
  let from = begin;
  for (let at = first; at >= 0 && at < end; at = text.indexOf(part, from)) {
    if (at > from) found.push({ text: line.slice(from, at), hit: false });
    from = Math.min(end, at + part.length);
    found.push({ text: line.slice(at, from), hit: true });
  }
  if (from < end) found.push({ text: line.slice(from, end), hit: false });
  return end < line.length ? [...found, { text: "…", hit: false }] : found;
}
