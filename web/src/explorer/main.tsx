/** @jsxImportSource react */
import "graphiql/style.css";
import "./explorer.css";
import { DOC_EXPLORER_PLUGIN, DocExplorerContextProvider } from "@graphiql/plugin-doc-explorer";
import { HISTORY_PLUGIN, HistoryContextProvider } from "@graphiql/plugin-history";
import { useEditorContext, usePluginStore } from "@graphiql/react";
import { GraphiQL, GraphiQLInterface, GraphiQLProvider } from "graphiql";
import { useEffect } from "react";
import { createRoot } from "react-dom/client";
import { at } from "../lib/base";
import { SHAPES } from "../lib/icons";
import { NAV } from "../state/pages";
import { EXAMPLES } from "./examples";
import { EXAMPLES_PLUGIN } from "./examples-plugin";
import { makeFetcher } from "./fetcher";
import { keepActiveTab } from "./storage";
import { readTheme } from "./theme";

/** A link such as `/graphiql?query=…&variables=…` opens that operation: pages link here with the query they show. */
const params = new URLSearchParams(location.search);
const query = params.get("query");
const variables = params.get("variables");

const container = document.getElementById("graphiql");
if (container === null) throw new Error("graphiql.html must contain an element with the id 'graphiql'");

/** On a desk the examples stand beside the editor from the beginning. */
const beside = matchMedia("(max-width: 700px)").matches ? {} : { visiblePlugin: EXAMPLES_PLUGIN };

/** Says to screen readers what each editor is for. */
function useNamedEditors(): void {
  const { queryEditor, variableEditor, headerEditor, responseEditor } = useEditorContext({ nonNull: true });
  useEffect(() => {
    const named = [
      [queryEditor, "Operation"],
      [variableEditor, "Variables"],
      [headerEditor, "Headers"],
      [responseEditor, "Answer"],
    ] as const;
    for (const [editor, name] of named) editor?.getInputField().setAttribute("aria-label", name);
  }, [queryEditor, variableEditor, headerEditor, responseEditor]);
}

/**
 * The frame settles when it is made what stands beside the editor, so it waits for its store to have heard of it
 * (`GraphiQL` does not).
 */
function Frame() {
  useNamedEditors();
  const { plugins } = usePluginStore();
  if (plugins.length === 0) return null;
  return (
    <GraphiQLInterface
      defaultTheme={readTheme()}
      defaultEditorToolsVisibility={false}
      showPersistHeadersSettings={false}
    >
      <GraphiQL.Logo>{null}</GraphiQL.Logo>
    </GraphiQLInterface>
  );
}

function PageIcon({ name }: { name: (typeof NAV)[number]["icon"] }) {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path
        d={SHAPES[name]}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.6"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}

/** The head of every page of the dashboard, and its menu at the left. */
function Head() {
  return (
    <>
      <header className="explorer-head">
        <a className="explorer-home" href={at("/")}>
          <img src={at("/icon.svg")} alt="" width="22" height="22" />
          <span>Cronograph</span>
          <span className="explorer-instance">{location.host}</span>
        </a>
      </header>
      <nav className="explorer-nav" aria-label="Pages">
        {NAV.map((entry) => (
          <a key={entry.href} href={at(entry.href)} aria-current={entry.href === "/graphiql" ? "page" : undefined}>
            <PageIcon name={entry.icon} />
            <span>{entry.label}</span>
          </a>
        ))}
      </nav>
    </>
  );
}

keepActiveTab(localStorage);
createRoot(container).render(
  <GraphiQLProvider
    fetcher={makeFetcher(location)}
    plugins={[DOC_EXPLORER_PLUGIN, HISTORY_PLUGIN, EXAMPLES_PLUGIN]}
    referencePlugin={DOC_EXPLORER_PLUGIN}
    defaultTabs={EXAMPLES.filter((example) => example.opened).map(({ query, variables }) => ({
      query,
      variables: variables ?? null,
    }))}
    {...beside}
    {...(query === null ? {} : { query })}
    {...(variables === null ? {} : { variables })}
    shouldPersistHeaders={false}
    inputValueDeprecation
  >
    <HistoryContextProvider>
      <DocExplorerContextProvider>
        <Head />
        <main className="explorer-main">
          <h1>Explorer</h1>
          <Frame />
        </main>
      </DocExplorerContextProvider>
    </HistoryContextProvider>
  </GraphiQLProvider>,
);
