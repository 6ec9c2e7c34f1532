/** @jsxImportSource react */
import { type GraphiQLPlugin, useEditorContext } from "@graphiql/react";
import { Kind, parse } from "graphql";
import { flushSync } from "react-dom";
import { EXAMPLES, type Example } from "./examples";

function ExamplesIcon() {
  return (
    <svg viewBox="0 0 20 20" fill="none" stroke="currentColor" strokeWidth="1.5" aria-hidden="true">
      <path d="M4 3.5h12v13H4zM7 7.5h6M7 10.5h6M7 13.5h3" strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}

function factsOf({ query }: Example) {
  const documentAST = parse(query);
  const operations = documentAST.definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  return { documentAST, operations, operationName: operations[0]?.name?.value ?? "" };
}

/** Opens an example in a tab of its own, so that nothing that was typed is lost; null until the editors are there. */
function useOpenExample(): ((example: Example) => void) | null {
  const { addTab, queryEditor, variableEditor, updateActiveTabValues } = useEditorContext({ nonNull: true });
  if (queryEditor === null || variableEditor === null) return null;
  return ({ variables = "", ...example }) => {
    // The new tab puts its own text into the editors; that must have happened before the example's is put there.
    flushSync(addTab);
    queryEditor.setValue(example.query);
    variableEditor.setValue(variables);
    const facts = factsOf(example);
    updateActiveTabValues({ query: example.query, variables, operationName: facts.operationName });
    // The editor finds these facts itself, but only when typing pauses: running at once would ask for the last tab's
    // operation.
    Object.assign(queryEditor, facts);
  };
}

function ExamplesPane() {
  const open = useOpenExample();
  return (
    <section className="examples" aria-label="Example operations">
      <h2 className="examples-title">Examples</h2>
      <p className="examples-hint">Each opens in a new tab; run it with Ctrl-Enter.</p>
      {[...new Set(EXAMPLES.map((example) => example.section))].map((section) => (
        <div key={section}>
          <h3 className="examples-section">{section}</h3>
          <ul>
            {EXAMPLES.filter((example) => example.section === section).map((example) => (
              <li key={example.title}>
                <button
                  type="button"
                  className="graphiql-un-styled examples-item"
                  disabled={open === null}
                  onClick={() => open?.(example)}
                >
                  {example.title}
                </button>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}

export const EXAMPLES_PLUGIN: GraphiQLPlugin = { title: "Examples", icon: ExamplesIcon, content: ExamplesPane };
