import { resolve } from "node:path";
import { defineConfig } from "vite";

const here = import.meta.dirname;

/**
 * Builds the page of primitives, which no server has: `vite build --config ui-states.config.ts --outDir …` for tests and
 * for who works on them, `npm run states` to look at it while one does.
 */
export default defineConfig({
  root: here,
  base: "./",
  publicDir: false,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    emptyOutDir: true,
    target: ["chrome123", "firefox128", "safari17.5"],
    minify: false,
    reportCompressedSize: false,
    rolldownOptions: { input: resolve(here, "ui-states.html") },
  },
});
