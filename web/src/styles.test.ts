import { expect, test } from "vitest";

const SHEETS = import.meta.glob<string>("./styles/*.css", { query: "?raw", import: "default", eager: true });

interface Rule {
  readonly selectors: readonly string[];
  readonly narrow: boolean;
  readonly properties: readonly string[];
}

/** The rules of a sheet in their order, and whether they hold for narrow windows alone. */
function rulesOf(sheet: string): readonly Rule[] {
  const rules: Rule[] = [];
  let media = "";
  for (const block of sheet.replaceAll(/\/\*.*?\*\//gs, "").split("}")) {
    const heads = block.split("{");
    const properties = heads.pop() ?? "";
    if (heads.length === 0) media = "";
    if (heads[0]?.trim().startsWith("@")) media = heads.shift() ?? "";
    const selectors = heads[0]?.split(",").map((each) => each.trim()) ?? [];
    const names = [...properties.matchAll(/^\s*([\w-]+):/gm)].map((match) => match[1] ?? "");
    rules.push({ selectors, narrow: media.includes("max-width"), properties: names });
  }
  return rules;
}

function concern(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}-`) || other.startsWith(`${one}-`);
}

test("what holds for narrow windows stands behind what holds for all, which would undo it", () => {
  const sheets = [
    "tokens",
    "base",
    "shell",
    "frame",
    "controls",
    "table",
    "overview",
    "pages",
    "steps",
    "search",
    "later",
  ];
  const rules = sheets.flatMap((name) => rulesOf(SHEETS[`./styles/${name}.css`] ?? ""));
  expect(rules.length).toBeGreaterThan(500);
  const undone = rules.flatMap((rule, place) =>
    rules
      .slice(place + 1)
      .flatMap((later) =>
        rule.narrow && !later.narrow
          ? rule.selectors
              .filter((each) => later.selectors.includes(each))
              .filter(() => rule.properties.some((one) => later.properties.some((other) => concern(one, other))))
          : [],
      ),
  );
  expect(undone).toEqual([]);
});
