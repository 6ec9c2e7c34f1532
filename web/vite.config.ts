import { resolve } from "node:path";
import { defineConfig, type Plugin } from "vite";
import { compressed } from "./compress";
import { documentManifest } from "./document-manifest";
import { staticFrame } from "./frame";

/**
 * GraphiQL's style sheet embeds its fonts as data: URLs, which the Content-Security-Policy refuses and nobody needs.
 */
function stripEmbeddedFonts(): Plugin {
  return {
    name: "strip-embedded-fonts",
    enforce: "pre",
    transform(code, id) {
      if (!/graphiql[^?]*\.css/.test(id)) return null;
      return code.replace(/@font-face\s*\{[^}]*url\(["']?data:[^}]*\}/g, "");
    },
  };
}

const here = import.meta.dirname;
/** Where `npm run dev` finds a running Cronograph. */
const server = process.env["CRONOGRAPH_URL"] ?? "http://127.0.0.1:8000";

/**
 * Few files instead of one for each module that pages share, each with what its modules import and an earlier one has
 * not: what the explorer and sign-in need too, with the libraries; the frame, which starts the dashboard as soon as it
 * is loaded; what three of the rest share; the lists that are looked at most; the overview; the other lists; the schedule; settings; alarms; webhooks;
 * the pages of one thing; the dialogs. `frame.ts` says which of them an address needs.
 */
const CHUNKS = [
  {
    name: "base",
    priority: 60,
    test: /web\/src\/(lib\/(base|close-code|icons)|api\/(sign-in|post|passkeys)|state\/(pages|stored-theme|drafts))\.ts|node_modules\/(preact|@preact|graphql-ws)\/|rolldown\/runtime|vite\/preload-helper/,
  },
  { name: "frame", priority: 50, test: /web\/src\/main\.tsx/ },
  {
    name: "shared",
    priority: 45,
    minShareCount: 3,
    test: /web\/src\/(?!features\/(alarms\/(deliveries|document|model|firing-columns)|hooks)|parts\/(args-editor|run-with-args|change-lines|answer-page)|model\/(args-form|gaps|task-form|revisions)|lib\/(args-schema|ansi)|services\/(previews|secrets)|ui\/(stacked-bars|more-fields))/,
  },
  { name: "lists", priority: 40, test: /web\/src\/features\/(tasks|runs|log)\/page\.tsx/ },
  { name: "overview", priority: 30, test: /web\/src\/features\/overview\/page\.tsx/ },
  {
    name: "more",
    priority: 20,
    test: /web\/src\/(features\/(jobs|groups|nodes|flows|inbox|lines)\/page|shell\/palette)\.tsx/,
  },
  { name: "plan", priority: 19, test: /web\/src\/features\/plan\/page\.tsx/ },
  { name: "admin", priority: 18, test: /web\/src\/features\/((account|hooks)\/page|admin\/\w+)\.tsx/ },
  { name: "alarms", priority: 15, test: /web\/src\/features\/alarms\/page\.tsx/ },
  { name: "webhooks", priority: 12, test: /web\/src\/features\/webhooks\/page\.tsx/ },
  {
    name: "one",
    priority: 10,
    test: /web\/src\/features\/(tasks\/task|jobs\/job|flows\/flow|errors\/page|run\/(page|execution)|log\/archived)\.tsx/,
  },
  {
    name: "dialogs",
    priority: 5,
    test: /web\/src\/parts\/(edit-task|run-with-args|bulk-dialog|answer-dialog|pause-dialog|silence-dialog|changes)\.tsx/,
  },
];

export default defineConfig({
  root: here,
  // Relative to <base>: the server says there where an application has mounted it.
  base: "./",
  appType: "mpa",
  plugins: [stripEmbeddedFonts(), documentManifest(), staticFrame(), compressed()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  resolve: {
    dedupe: ["graphql", "react", "react-dom"],
    alias: {
      entities: resolve(here, "src/explorer/entities.ts"),
      "framer-motion": resolve(here, "src/explorer/reorder.tsx"),
      "react-style-singleton": resolve(here, "src/explorer/style-singleton.ts"),
    },
  },
  build: {
    outDir: resolve(here, "../server/static"),
    emptyOutDir: true,
    target: ["chrome123", "firefox128", "safari17.5"],
    cssTarget: ["chrome123", "firefox128", "safari17.5"],
    // Everything is a file of its own: data: fonts and images would need a wider Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 4000,
    reportCompressedSize: false,
    license: { fileName: "licenses.md" },
    rolldownOptions: {
      // GraphiQL's React dependencies mark their modules "use client", which means nothing in a bundle.
      onLog(level, log, report) {
        if (log.code !== "MODULE_LEVEL_DIRECTIVE") report(level, log);
      },
      input: {
        index: resolve(here, "index.html"),
        graphiql: resolve(here, "graphiql.html"),
        "sign-in": resolve(here, "src/sign-in.ts"),
      },
      // The server writes the page of sign-in itself, and has to know what its script is called.
      output: {
        entryFileNames: (chunk) => (chunk.name === "sign-in" ? "sign-in.js" : "assets/[name]-[hash].js"),
        codeSplitting: { groups: CHUNKS },
      },
    },
  },
  worker: { format: "es" },
  server: {
    proxy: { "/graphql": { target: server, ws: true }, "/schema.graphql": server, "/auth": server, "/login": server },
  },
});
