import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv } from "vite";

// `npm run dev` serves the page with hot reload and passes everything else on to a running node.
const node = loadEnv("", ".", "HOLDFAST_")["HOLDFAST_NODE"] ?? "http://127.0.0.1:8787";

export default defineConfig({
  plugins: [react()],
  build: {
    // The licences of the bundled packages go out with the page.
    license: { fileName: "licenses.md" },
    // The page's content security policy knows no inline scripts and no data: scripts.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    target: "es2022",
    chunkSizeWarningLimit: 800, // one chunk by intent: the page needs all of it at once
  },
  server: {
    proxy: {
      "/agents": { target: node, ws: true },
      "/holdfast": { target: node },
    },
  },
});
