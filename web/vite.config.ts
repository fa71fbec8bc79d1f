// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from 'vite';

// Names without hashes: the engine has the files in it by name.
export default defineConfig({
  base: './',
  build: {
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: 'assets/page.js',
        assetFileNames: 'assets/page[extname]',
        codeSplitting: false,
      },
    },
  },
});
