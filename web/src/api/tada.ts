import type { initGraphQLTada, TadaDocumentNode } from "gql.tada";
import type { introspection } from "./graphql-env";

/** Root fields that look one thing up, and answer null if there is none. */
type LookUp = "execution" | "flow" | "group" | "job" | "node" | "run" | "task";

type Types = introspection["types"];

/**
 * Every root field is nullable in the schema. Those that look nothing up are null only beside an error, which is
 * thrown.
 */
type Sure<Root extends { fields: object }> = Omit<Root, "fields"> & {
  fields: {
    [Name in keyof Root["fields"]]: Name extends LookUp
      ? Root["fields"][Name]
      : Root["fields"][Name] extends { name: infer Field; type: infer Type }
        ? { name: Field; type: { kind: "NON_NULL"; name: never; ofType: Type } }
        : never;
  };
};

interface Answered extends Omit<introspection, "types"> {
  types: Omit<Types, "Query" | "Mutation"> & { Query: Sure<Types["Query"]>; Mutation: Sure<Types["Mutation"]> };
}

/** Instants as RFC 3339 text, counts as numbers: what the server writes. */
interface Setup {
  introspection: Answered;
  disableMasking: true;
  scalars: {
    DateTime: string;
    JSON: unknown;
    BigInt: number;
    Duration: number;
    Labels: Readonly<Record<string, string>>;
  };
}

/** The result of `graphql()`: the text to send. The types alone know the rest, so no parser is shipped. */
export interface DocumentText {
  readonly text: string;
  readonly fragments: readonly DocumentText[];
  /** The SHA-256 of an operation with its fragments; `document-manifest.ts` writes it when the dashboard is built. */
  readonly hash: string | undefined;
}

function makeDocument(text: string, fragments: readonly DocumentText[] = [], hash?: string): DocumentText {
  return { text, fragments, hash };
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

/** The document of a request: its hash or its text. */
export type SentDocument = { readonly documentId: string } | { readonly query: string };

/** The code with which a server refuses a hash that it does not know. */
const UNKNOWN_HASH = "PERSISTED_QUERY_NOT_FOUND";

let hashesAreKnown = true;

/** Sends a document by its hash; by its text where nothing was built, or once a server of another version answered. */
export function sentDocument<R, V>(document: TadaDocumentNode<R, V>): SentDocument {
  const { hash } = document as unknown as DocumentText;
  return hashesAreKnown && hash ? { documentId: `sha256:${hash}` } : { query: printDocument(document) };
}

/** Whether the server does not know the hash of a document that was sent: send it again, from now on all as text. */
export function refusesHash(
  sent: SentDocument,
  errors: readonly { readonly extensions?: Readonly<Record<string, unknown>> }[],
): boolean {
  if (!("documentId" in sent) || !errors.some((error) => error.extensions?.["code"] === UNKNOWN_HASH)) return false;
  hashesAreKnown = false;
  return true;
}

export type { FragmentOf, ResultOf, TadaDocumentNode, VariablesOf } from "gql.tada";
