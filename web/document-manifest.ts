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
  readonly start: number;
  readonly end: number;
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
 * Stands for the hash of an operation, until all fragments are known: a word as long as the hash, so that the size of
 * the chunk is right, with the number of the operation.
 */
const PLACE = /document-hash-of-operation-(\d{37})/g;

function placeOf(number: number): string {
  return `document-hash-of-operation-${String(number).padStart(37, "0")}`;
}

/**
 * Lists every operation that the pages send as `documents.json`, `{SHA-256: text}`: the server trusts these documents
 * and knows them by their hashes. The plugin reads `const Name = graphql("…", [Fragment])` from the syntax tree of the
 * sources, puts the text together as `printDocument` does when the page runs, and adds the hash to the call.
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
      let changed = code;
      const declared = [...writtenIn(this.parse(code).body as unknown as readonly Node[])];
      // From the end of the module to its beginning: the places before a change stay right.
      for (const { name, written, call } of declared.reverse()) {
        if (!/^\s*fragment\b/.test(written.text)) {
          const [text, used] = (call.arguments ?? []).map((one) => code.slice(one.start, one.end));
          const added = `graphql(${text}, ${used ?? "[]"}, "${placeOf(operations.length)}")`;
          changed = changed.slice(0, call.start) + added + changed.slice(call.end);
          operations.push(written);
        } else if (!fragments.has(name)) fragments.set(name, written);
        else this.error(`${id}: there are two fragments called ${name}; give one of them another name`);
      }
      return changed === code ? null : { code: changed, map: null };
    },
    renderChunk(code) {
      // Before the chunk gets its name, which depends on its content.
      const hashed = code.replace(PLACE, (_, number) => sha256(textOf(operations[Number(number)], fragments)));
      return hashed === code ? null : { code: hashed, map: null };
    },
    generateBundle() {
      const texts = operations.map((operation) => textOf(operation, fragments)).sort();
      const listed = Object.fromEntries(texts.map((text) => [sha256(text), text]));
      this.emitFile({ type: "asset", fileName: FILE, source: `${JSON.stringify(listed, null, 1)}\n` });
    },
  };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function textOf(operation: Written | undefined, fragments: ReadonlyMap<string, Written>): string {
  if (!operation) throw new Error("the sources have no operation of this number");
  return [...collect(operation, fragments, new Set())].join("\n");
}

/** The documents that a module declares at its top level, with the names of their constants and the calls. */
function* writtenIn(statements: readonly Node[]): Generator<{ name: string; written: Written; call: Node }> {
  for (const statement of statements) {
    const declaration = statement.declaration ?? statement;
    for (const { id, init } of declaration.declarations ?? []) {
      if (init?.type !== "CallExpression" || init.callee?.name !== "graphql") continue;
      const [text, fragments] = init.arguments ?? [];
      yield {
        name: id?.name ?? "",
        written: { text: literal(text), fragments: (fragments?.elements ?? []).map((one) => one.name ?? "") },
        call: init,
      };
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
