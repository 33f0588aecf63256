import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// Relative addresses only: the app is served below any path a proxy gives it.
export default defineConfig({
  base: "./",
  plugins: [svelte()],
  build: {
    outDir: "../server/src/tracemill_ui/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
