import { readFileSync } from "node:fs";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";

/** What ends up in the built files; their licences go along. */
const BUNDLED = [
  "svelte",
  "d3-array",
  "d3-color",
  "d3-format",
  "d3-interpolate",
  "d3-path",
  "d3-scale",
  "d3-shape",
  "internmap",
  "@fontsource-variable/inter",
];

function licences(): Plugin {
  return {
    name: "licences",
    generateBundle() {
      const texts = BUNDLED.map((name) => {
        const folder = new URL(`./node_modules/${name}/`, import.meta.url);
        const file = name === "svelte" ? "LICENSE.md" : "LICENSE";
        return `${name}\n\n${readFileSync(new URL(file, folder), "utf8").trim()}\n`;
      });
      this.emitFile({
        type: "asset",
        fileName: "third-party-licences.txt",
        source: texts.join(`\n${"-".repeat(78)}\n\n`),
      });
    },
  };
}

// Relative addresses only: the app is served below any path a proxy gives it.
export default defineConfig({
  base: "./",
  plugins: [svelte(), licences()],
  build: {
    outDir: "../server/src/tracemill_ui/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
