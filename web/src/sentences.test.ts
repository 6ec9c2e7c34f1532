import { expect, test } from "vitest";

/** The parts of pages by their paths. */
const SOURCES = import.meta.glob<string>("./**/*.tsx", { query: "?raw", import: "default", eager: true });
/** What the server writes with times in UTC: explanations, previews, and the part of a node that is stuck. */
const SENTENCE =
  /[={]\{?[^{}\n]*\b(?:explain|explanation|preview|only|run|found|node)\??\.(?:sentence|stall)\b[^{}\n]*\}/g;

test("sentences of the server are shown in the zone that the reader has chosen", () => {
  const shown = Object.entries(SOURCES).flatMap(([path, text]) =>
    [...text.matchAll(SENTENCE)].map(([part]) => `${path}: ${part}`),
  );
  expect(shown.length).toBeGreaterThan(4);
  expect(shown.filter((text) => !text.includes("inZone("))).toEqual([]);
});
