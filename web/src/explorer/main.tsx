/** @jsxImportSource react */
import "./workers";
import "graphiql/style.css";
import "./explorer.css";
import { GraphiQL, HISTORY_PLUGIN } from "graphiql";
import { createRoot } from "react-dom/client";
import { at } from "../lib/base";
import { EXAMPLES } from "./examples";
import { EXAMPLES_PLUGIN } from "./examples-plugin";
import { makeFetcher } from "./fetcher";
import { readTheme } from "./theme";

/** A link such as `/graphiql?query=…&variables=…` opens that operation: pages link here with the query they show. */
const params = new URLSearchParams(location.search);
const query = params.get("query");
const variables = params.get("variables");

const container = document.getElementById("graphiql");
if (container === null) throw new Error("graphiql.html must contain an element with the id 'graphiql'");

createRoot(container).render(
  <GraphiQL
    fetcher={makeFetcher(location)}
    plugins={[HISTORY_PLUGIN, EXAMPLES_PLUGIN]}
    {...(matchMedia("(max-width: 700px)").matches ? {} : { visiblePlugin: EXAMPLES_PLUGIN })}
    defaultTabs={EXAMPLES.filter((example) => example.opened).map(({ query, variables }) => ({ query, variables: variables ?? null }))}
    {...(query === null ? {} : { initialQuery: query })}
    {...(variables === null ? {} : { initialVariables: variables })}
    defaultTheme={readTheme()}
    defaultEditorToolsVisibility={false}
    shouldPersistHeaders={false}
    inputValueDeprecation
  >
    <GraphiQL.Logo>
      <a className="explorer-home" href={at("/")}>
        Cronograph
      </a>
    </GraphiQL.Logo>
  </GraphiQL>,
);
