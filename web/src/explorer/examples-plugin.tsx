/** @jsxImportSource react */
import { type GraphiQLPlugin, useGraphiQL, useGraphiQLActions } from "@graphiql/react";
import { Kind, parse } from "graphql";
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

/** Opens an example in a tab of its own: nothing that was typed is lost. */
function useOpenExample(): (example: Example) => void {
  const { addTab, setOperationFacts, updateActiveTabValues } = useGraphiQLActions();
  const queryEditor = useGraphiQL((state) => state.queryEditor);
  const variableEditor = useGraphiQL((state) => state.variableEditor);
  return (example) => {
    addTab();
    queryEditor?.setValue(example.query);
    variableEditor?.setValue(example.variables ?? "");
    const { operationName, ...facts } = factsOf(example);
    updateActiveTabValues({ query: example.query, variables: example.variables ?? "", operationName });
    // The editor finds these facts itself, but only when typing pauses: running at once would ask for the last tab's operation.
    setOperationFacts({ ...facts, operationName });
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
                <button type="button" className="graphiql-un-styled examples-item" onClick={() => open(example)}>
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
