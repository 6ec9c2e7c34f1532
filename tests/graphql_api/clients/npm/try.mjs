// Tries a library of others with the schema, and most with a server; prints what it saw as one JSON object.
// Arguments: the library, the schema, the address of the server, an empty folder.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { parse } from "graphql";

const [library, schemaFile, url, folder] = process.argv.slice(2);
const home = import.meta.dirname;
const texts = readFileSync(join(home, "documents.graphql"), "utf8");
const [recent, same] = texts.split(/^(?=query SameKey)/m);
/** These types are found by their names. */
const NAMED = ["Job", "Group", "Account", "Secret"];

async function ask(query, variables) {
  const answer = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, variables }),
  });
  return answer.json();
}

/** The key of a new run. */
async function newRun() {
  const { data } = await ask('mutation { triggerJob(jobName: "nap", args: { seconds: 0 }) { run { id } } }');
  return data.triggerJob.run.id;
}

async function apollo() {
  const id = await newRun();
  const { ApolloClient, HttpLink, InMemoryCache, gql } = await import("@apollo/client");
  const typePolicies = Object.fromEntries(NAMED.map((name) => [name, { keyFields: ["name"] }]));
  const client = new ApolloClient({
    link: new HttpLink({ uri: `${url}/graphql` }),
    cache: new InMemoryCache({ typePolicies }),
  });
  const { data } = await client.query({ query: gql(same), variables: { id } });
  return { id, data, keys: Object.keys(client.cache.extract()) };
}

async function urql() {
  const id = await newRun();
  const { Client, fetchExchange } = await import("@urql/core");
  const { cacheExchange } = await import("@urql/exchange-graphcache");
  const keys = Object.fromEntries(NAMED.map((name) => [name, (data) => data.name]));
  const client = new Client({
    url: `${url}/graphql`,
    preferGetMethod: false,
    exchanges: [cacheExchange({ keys }), fetchExchange],
  });
  const first = await client.query(same, { id }).toPromise();
  const again = await client.query(same, { id }, { requestPolicy: "cache-only" }).toPromise();
  return { id, data: again.data, error: String(first.error ?? again.error ?? "") };
}

async function relay() {
  const id = await newRun();
  const source = join(folder, "src");
  mkdirSync(join(source, "__generated__"), { recursive: true });
  writeFileSync(join(folder, "package.json"), "{}");
  const named = texts.replaceAll(/query (\w+)/g, "query source$1Query");
  writeFileSync(join(source, "source.js"), `graphql\`${named.split(/^(?=query sourceSame)/m)[0]}\`;
graphql\`${named.split(/^(?=query sourceSame)/m)[1]}\`;
graphql\`
  query sourcePagesQuery { ...source_runs }\`;
graphql\`
  fragment source_runs on Query
  @argumentDefinitions(first: { type: "Int", defaultValue: 5 }, after: { type: "String" })
  @refetchable(queryName: "sourceMoreQuery") {
    runs(first: $first, after: $after) @connection(key: "source_runs") { edges { node { id state } } }
  }\`;
`);
  const schema = join(folder, "schema.graphql");
  writeFileSync(schema, readFileSync(schemaFile));
  const config = { src: "./src", schema: "./schema.graphql", language: "javascript", eagerEsModules: true };
  writeFileSync(join(folder, "relay.config.json"), JSON.stringify(config));
  const compiler = createRequire(import.meta.url)("relay-compiler");
  execFileSync(compiler, ["relay.config.json"], { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  const generated = (name) => import(join(source, "__generated__", `${name}.graphql.js`));
  const { Environment, Network, RecordSource, Store, createOperationDescriptor } = (
    await import("relay-runtime")
  ).default;
  const environment = new Environment({
    network: Network.create(({ text }, variables) => ask(text, variables)),
    store: new Store(new RecordSource()),
    getDataID: (data, type) => `${type}:${data.id ?? data.name}`,
  });
  writeFileSync(join(folder, "package.json"), '{"type": "module"}');
  const query = (await generated("sourceSameKeyQuery")).default;
  const operation = createOperationDescriptor(query, { id });
  await new Promise((complete, error) => environment.execute({ operation }).subscribe({ complete, error }));
  const { data } = environment.lookup(operation.fragment);
  return { id, data, keys: environment.getStore().getSource().getRecordIDs() };
}

async function codegen() {
  const { codegen: generate } = await import("@graphql-codegen/core");
  const plugin = async (name) => import(`@graphql-codegen/${name}`);
  const typescript = await generate({
    filename: "types.ts",
    schema: parse(readFileSync(schemaFile, "utf8")),
    documents: [{ location: "documents.graphql", document: parse(texts) }],
    config: {},
    plugins: [{ typescript: {} }, { operations: {} }],
    pluginMap: { typescript: await plugin("typescript"), operations: await plugin("typescript-operations") },
  });
  return { typescript };
}

async function eslint() {
  const { ESLint } = await import("eslint");
  const graphql = (await import("@graphql-eslint/eslint-plugin")).default;
  const configured = (rules, documents) => [
    {
      files: ["**/*.graphql"],
      languageOptions: { parser: graphql.parser, parserOptions: { graphQLConfig: { schema: schemaFile, documents } } },
      plugins: { "@graphql-eslint": graphql },
      rules,
    },
  ];
  const lint = async (rules, text, filePath, documents = join(home, "documents.graphql")) => {
    const overrideConfig = configured(rules, documents);
    const engine = new ESLint({ cwd: home, overrideConfigFile: true, overrideConfig });
    const [result] = await engine.lintText(text, { filePath });
    return result.messages.map(({ ruleId, message, line }) => `${ruleId} ${line}: ${message}`);
  };
  const { configs } = graphql;
  const edges = {
    // Lists that never grow are lists.
    listTypeCanWrapOnlyEdgeType: false,
    // A process of the cluster is a Node; there are no global ids.
    shouldImplementNode: false,
  };
  const relayRules = { ...configs["flat/schema-relay"].rules, "@graphql-eslint/relay-edge-types": ["error", edges] };
  const operationRules = configs["flat/operations-recommended"].rules;
  const dashboard = join(folder, "dashboard.graphql");
  return {
    relay: await lint(relayRules, readFileSync(schemaFile, "utf8"), "schema.graphql"),
    operations: await lint(operationRules, texts, "documents.graphql"),
    dashboard: await lint(operationRules, readFileSync(dashboard, "utf8"), "dashboard.graphql", dashboard),
  };
}

const found = await { apollo, urql, relay, codegen, eslint }[library]();
console.log(JSON.stringify(found));
