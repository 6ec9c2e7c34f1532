/** The colours of terminals, which job code writes into its lines. */

// Colours and cursor movements, which a browser would show as rubbish.
const ANSI = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;
const STYLE = /\u001b\[([0-9;]*)m/g;

const BOLD = 1;
const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/** A piece of a line, and the classes of its colour. */
export interface Styled {
  readonly text: string;
  readonly style: string;
}

/** A message without terminal codes. */
export function plainText(message: string): string {
  return message.replace(ANSI, "").replace(CONTROLS, "");
}

/** The pieces of a message by their colours; backgrounds and colours beyond the sixteen of terminals are left out. */
export function styledText(message: string): readonly Styled[] {
  const found: Styled[] = [];
  let [from, colour, bold] = [0, "", false];
  const add = (raw: string): void => {
    const text = plainText(raw);
    if (text !== "") found.push({ text, style: [bold && "ansi-bold", colour].filter(Boolean).join(" ") });
  };
  for (const match of message.matchAll(STYLE)) {
    add(message.slice(from, match.index));
    from = match.index + match[0].length;
    const codes = (match[1] ?? "").split(";").map(Number);
    // 38 and 48 begin a colour of a palette: what follows them are its numbers.
    const own = codes.findIndex((code) => code === 38 || code === 48);
    for (const code of own < 0 ? codes : codes.slice(0, own)) {
      const name = COLOURS[(code >= 90 ? code - 90 : code - 30) as number];
      if (code === 0) [colour, bold] = ["", false];
      else if (code === BOLD) bold = true;
      else if (code === 22) bold = false;
      else if (code === 39) colour = "";
      else if (name !== undefined) colour = `ansi-${name}`;
    }
  }
  add(message.slice(from));
  return found;
}
