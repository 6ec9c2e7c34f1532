import { defineConfig } from "vitest/config";

export default defineConfig({
  // A process for each file took four times as long as all the tests; these share modules, and hold in any order.
  test: {
    // The style sheets are read as they are.
    css: true,
    environment: "node",
    include: ["src/**/*.test.ts"],
    isolate: false,
  },
});
