import { expect, test } from "vitest";
import { plainText, styledText } from "./ansi";

test("terminal codes are taken out", () => {
  expect(plainText("\u001b[31mred\u001b[0m \u001b]8;;http://x\u0007link\u0000\ttab")).toBe("red link\ttab");
});

test("colours become pieces", () => {
  expect(styledText("plain")).toEqual([{ text: "plain", style: "" }]);
  expect(styledText("a \u001b[1;31mred\u001b[0m b\u001b[2K \u001b[92mgreen\u001b[39m")).toEqual([
    { text: "a ", style: "" },
    { text: "red", style: "ansi-bold ansi-red" },
    { text: " b ", style: "" },
    { text: "green", style: "ansi-green" },
  ]);
});

test("the numbers of a palette are no colours of their own", () => {
  expect(styledText("\u001b[38;5;31mx")).toEqual([{ text: "x", style: "" }]);
});
