import type { initGraphQLTada, TadaDocumentNode } from "gql.tada";
import type { introspection } from "./graphql-env";

/** Instants as RFC 3339 text, counts as numbers: what the server writes. */
interface Setup {
  introspection: introspection;
  disableMasking: true;
  scalars: { DateTime: string; JSON: unknown; BigInt: number };
}

/** What `graphql()` makes: the text to send. The types alone know the rest, so no parser is shipped. */
export interface DocumentText {
  readonly text: string;
  readonly fragments: readonly DocumentText[];
}

function makeDocument(text: string, fragments: readonly DocumentText[] = []): DocumentText {
  return { text, fragments };
}

/** Writes a typed operation or fragment: `graphql("query …", [Fragment])`, checked against the committed schema. */
export const graphql = makeDocument as unknown as ReturnType<typeof initGraphQLTada<Setup>>;

function collect(document: DocumentText, into: Set<string>): Set<string> {
  into.add(document.text.trim());
  for (const fragment of document.fragments) collect(fragment, into);
  return into;
}

/** The text of a document followed by every fragment it uses, each once. */
export function printDocument<R, V>(document: TadaDocumentNode<R, V>): string {
  return [...collect(document as unknown as DocumentText, new Set())].join("\n");
}

export type { FragmentOf, ResultOf, TadaDocumentNode, VariablesOf } from "gql.tada";
