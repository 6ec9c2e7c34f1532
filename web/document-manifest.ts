import { createHash } from "node:crypto";
import type { Plugin } from "vite";

/** A call of `graphql()`: its text, and the names of the fragments it is given. */
interface Written {
  readonly text: string;
  readonly fragments: readonly string[];
}

/** As much of a syntax tree (ESTree) as is looked at here. */
interface Node {
  readonly type: string;
  readonly name?: string;
  readonly value?: unknown;
  readonly id?: Node;
  readonly init?: Node | null;
  readonly declaration?: Node | null;
  readonly declarations?: readonly Node[];
  readonly callee?: Node;
  readonly arguments?: readonly Node[];
  readonly elements?: readonly Node[];
  readonly quasis?: readonly { readonly value: { readonly cooked?: string | null } }[];
}

const FILE = "documents.json";

/**
 * Lists every operation that the pages send as `documents.json`, `{SHA-256: text}`: a server that runs listed
 * documents only lets these through. What the sources write as `const Name = graphql("…", [Fragment])` is read from
 * the syntax tree and put together as `printDocument` does it when the page runs.
 */
export function documentManifest(): Plugin {
  const fragments = new Map<string, Written>();
  const operations: Written[] = [];
  return {
    name: "document-manifest",
    apply: "build",
    enforce: "post",
    buildStart() {
      fragments.clear();
      operations.length = 0;
    },
    transform(code, id) {
      if (!/\/src\/[^?]*\.tsx?$/.test(id) || !code.includes("graphql(")) return null;
      for (const [name, written] of writtenIn(this.parse(code).body as unknown as readonly Node[])) {
        if (!/^\s*fragment\b/.test(written.text)) operations.push(written);
        else if (!fragments.has(name)) fragments.set(name, written);
        else this.error(`${id}: there are two fragments called ${name}; give one of them another name`);
      }
      return null;
    },
    generateBundle() {
      const texts = operations.map((operation) => [...collect(operation, fragments, new Set())].join("\n")).sort();
      const listed = Object.fromEntries(texts.map((text) => [createHash("sha256").update(text).digest("hex"), text]));
      this.emitFile({ type: "asset", fileName: FILE, source: `${JSON.stringify(listed, null, 1)}\n` });
    },
  };
}

/** The documents that a module declares at its top level, with the names of their constants. */
function* writtenIn(statements: readonly Node[]): Generator<[string, Written]> {
  for (const statement of statements) {
    const declaration = statement.declaration ?? statement;
    for (const { id, init } of declaration.declarations ?? []) {
      if (init?.type !== "CallExpression" || init.callee?.name !== "graphql") continue;
      const [text, fragments] = init.arguments ?? [];
      yield [
        id?.name ?? "",
        { text: literal(text), fragments: (fragments?.elements ?? []).map((one) => one.name ?? "") },
      ];
    }
  }
}

function literal(node: Node | undefined): string {
  const text = node?.type === "TemplateLiteral" ? node.quasis?.[0]?.value.cooked : node?.value;
  if (typeof text !== "string") throw new Error("graphql() takes a literal text without placeholders");
  return text;
}

/** The text and those of all its fragments, in the order and with the blanks of `printDocument`. */
function collect(
  { text, fragments: names }: Written,
  fragments: ReadonlyMap<string, Written>,
  into: Set<string>,
): Set<string> {
  into.add(text.trim());
  for (const name of names) {
    const fragment = fragments.get(name);
    if (!fragment) throw new Error(`graphql() is given ${name}, which is no fragment of the sources`);
    collect(fragment, fragments, into);
  }
  return into;
}
