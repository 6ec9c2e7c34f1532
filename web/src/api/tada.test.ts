import { beforeEach, expect, test, vi } from "vitest";

const HASH = "a".repeat(64);
const UNKNOWN = { extensions: { code: "PERSISTED_QUERY_NOT_FOUND" } };

/** Another module each time: it remembers whether the server knows hashes. */
async function tada() {
  vi.resetModules();
  const { graphql, ...rest } = await import("./tada");
  const written = graphql as unknown as (text: string, fragments?: readonly unknown[], hash?: string) => never;
  return { ...rest, built: written("query A { asOf }", [], HASH), unbuilt: written("query A { asOf }") };
}

beforeEach(() => {
  vi.resetModules();
});

test("a document is sent by its hash, and as text where there is none", async () => {
  const { sentDocument, built, unbuilt } = await tada();
  expect(sentDocument(built)).toEqual({ documentId: `sha256:${HASH}` });
  expect(sentDocument(unbuilt)).toEqual({ query: "query A { asOf }" });
});

test("once the server does not know a hash, documents are sent as text", async () => {
  const { refusesHash, sentDocument, built } = await tada();
  const sent = sentDocument(built);
  expect(refusesHash(sent, [{ extensions: { code: "DOCUMENT_NOT_ALLOWED" } }])).toBe(false);
  expect(refusesHash(sent, [UNKNOWN])).toBe(true);
  // A second request was under way: it is repeated, too.
  expect(refusesHash(sent, [UNKNOWN])).toBe(true);
  expect(sentDocument(built)).toEqual({ query: "query A { asOf }" });
  expect(refusesHash(sentDocument(built), [UNKNOWN])).toBe(false);
});
