import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  build: {
    outDir: "dist/site",
    emptyOutDir: true,
    target: "es2022",
    chunkSizeWarningLimit: 1200,
    assetsInlineLimit: 0,
    rollupOptions: { output: { entryFileNames: "assets/[name].js", chunkFileNames: "assets/[name].js", assetFileNames: "assets/[name][extname]" } },
  },
});
