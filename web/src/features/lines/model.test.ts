import { expect, test } from "vitest";
import { pieces } from "./model";

const shown = (line: string, wanted: string): string =>
  pieces(line, wanted)
    .map(({ text, hit }) => (hit ? `[${text}]` : text))
    .join("");

test("what was looked for is marked, in any case", () => {
  expect(shown("Upstream 503, again 503", "503")).toBe("Upstream [503], again [503]");
  expect(shown("ÄPFEL und äpfel", "äPFEL")).toBe("[ÄPFEL] und [äpfel]");
  expect(shown("aaa", "aa")).toBe("[aa]a");
  expect([shown("nothing", "503"), shown("", "x"), shown("x", "")]).toEqual(["nothing", "", "x"]);
  // The capital has two characters in lower case.
  expect(shown("İ 503", "503")).toBe("İ 503");
});

test("a long line is shown around the first hit", () => {
  const line = `${"a".repeat(500)}hit${"b".repeat(900)}`;
  expect(shown(line, "hit")).toBe(`…${"a".repeat(160)}[hit]${"b".repeat(437)}…`);
  expect(shown(`${"a".repeat(700)}`, "x")).toBe(`${"a".repeat(600)}…`);
});
