/**
 * Monaco's three web workers, built from this package so that the explorer works offline.
 * (`graphiql/setup-workers/vite` does the same but crashes Vite's development server.)
 */
import EditorWorker from "monaco-editor/esm/vs/editor/editor.worker.js?worker";
import JsonWorker from "monaco-editor/esm/vs/language/json/json.worker.js?worker";
import GraphQLWorker from "monaco-graphql/esm/graphql.worker.js?worker";

interface MonacoEnvironment {
  getWorker(workerId: string, label: string): Worker;
}

const environment: MonacoEnvironment = {
  getWorker(_workerId, label) {
    if (label === "json") return new JsonWorker();
    if (label === "graphql") return new GraphQLWorker();
    return new EditorWorker();
  },
};

Object.assign(globalThis, { MonacoEnvironment: environment });
