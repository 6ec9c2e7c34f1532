import { expect, test } from "vitest";

/** The sources by their paths: `./features/run/page.tsx`. */
const SOURCES = import.meta.glob<string>(["./**/*.{ts,tsx}", "!./**/*.test.ts", "!./**/*.d.ts"], {
  query: "?raw",
  import: "default",
  eager: true,
});
const ALL = import.meta.glob<string>(["./**/*.{ts,tsx}", "!./**/*.d.ts"], {
  query: "?raw",
  import: "default",
  eager: true,
});
const IMPORT = /^(?:import|export)\s[^;]*?from\s+"(\.[^"]+)"|import\("(\.[^"]+)"\)/gm;

/** The folder that a module belongs to: `features/run`, `components`; empty for what lies at the top. */
function folderOf(path: string): string {
  const folders = path.split("/").slice(1, -1);
  return folders.slice(0, folders[0] === "features" ? 2 : 1).join("/");
}

/** The path that a module means by a relative one. */
function resolved(from: string, to: string): string {
  return new URL(to, new URL(from, "file:///src/")).pathname.replace("/src/", "./");
}

/** The folders that modules of each folder import from. */
function importsByFolder(): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const [path, text] of Object.entries(SOURCES)) {
    const from = folderOf(path);
    for (const match of text.matchAll(IMPORT)) {
      const to = folderOf(resolved(path, match[1] ?? match[2] ?? ""));
      if (to !== from && to !== "" && from !== "") found.set(from, (found.get(from) ?? new Set()).add(to));
    }
  }
  return found;
}

/** Every set of folders that reach each other, as `a <> b`. */
function circles(imports: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  const reach = (from: string): ReadonlySet<string> => {
    const seen = new Set<string>();
    const open = [...(imports.get(from) ?? [])];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(...(imports.get(next) ?? []));
    }
    return seen;
  };
  const reached = new Map([...imports.keys()].map((folder) => [folder, reach(folder)]));
  const together = [...imports.keys()].map((folder) =>
    [...imports.keys()]
      .filter((other) => other === folder || (reached.get(folder)?.has(other) && reached.get(other)?.has(folder)))
      .sort()
      .join(" <> "),
  );
  return [...new Set(together)].filter((each) => each.includes("<>"));
}

test("no folders import each other, directly or by others", () => expect(circles(importsByFolder())).toEqual([]));

test("a circle over three folders is found", () => {
  const imports = new Map([
    ["a", new Set(["b"])],
    ["b", new Set(["c"])],
    ["c", new Set(["a"])],
    ["d", new Set(["a"])],
  ]);
  expect(circles(imports)).toEqual(["a <> b <> c"]);
});

/** Lines may have so many characters; the formatter keeps to it but for texts, which it does not cut. */
const LINE = 120;
const TEXT = /["'`/<]|^\s*[a-z]+\(/;

test("a line that is longer than the formatter wants has a text in it", () => {
  const long = Object.entries(ALL).flatMap(([path, text]) =>
    text.split("\n").flatMap((line) => (line.length > LINE ? [`${path}: ${line.trim()}`] : [])),
  );
  const comments = long.filter((line) => /^[^:]+: (?:\/\/|\/?\*)/.test(line));
  expect(comments).toEqual([]);
  expect(long.filter((line) => !TEXT.test(line.slice(line.indexOf(": ") + 2)))).toEqual([]);
});
