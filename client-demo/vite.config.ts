import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

/** Where `npm run dev` finds the server: `likewise serve --demo`. */
const server = process.env.LIKEWISE_URL ?? 'http://127.0.0.1:4000';

/** Writes a `.gz` beside each file that becomes smaller by it, so that the server compresses nothing. */
function gzipped(): Plugin {
  return {
    name: 'gzipped',
    apply: 'build',
    writeBundle({ dir = '' }) {
      for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
        const path = join(dir, name);
        if (!statSync(path).isFile() || /\.(gz|png|woff2|ttf)$/.test(name)) continue;
        const text = readFileSync(path);
        const packed = gzipSync(text, { level: 9 });
        if (packed.length < text.length) writeFileSync(`${path}.gz`, packed);
      }
    },
  };
}

/** Keeps the names of GraphiQL's icons, from which it makes their titles: minified, one is read out as “n7 icon”. */
function namedIcons(): Plugin {
  return {
    name: 'named-icons',
    apply: 'build',
    transform(code, id) {
      if (!id.includes('/@graphiql/react/dist/icons/')) return null;
      return code.replace(/export \{ (\w+) as default \}/, "Object.defineProperty($1, 'name', { value: '$1' });\n$&");
    },
  };
}

export default defineConfig({
  plugins: [react(), namedIcons(), gzipped()],
  build: {
    outDir: 'build/pages',
    emptyOutDir: true,
    // Some 2 % smaller than what esbuild makes, which is a KB or two of the first load.
    minify: 'terser',
    rollupOptions: { input: ['index.html', 'graphiql.html'] },
    // GraphiQL's editor, Monaco, is one large file. The size of the demo page's first load has a test.
    chunkSizeWarningLimit: 3_000,
    // The content security policy lets no data: through but images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  worker: { format: 'es' },
  server: {
    proxy: {
      '/graphql': { target: server, ws: true },
      '/dev': server,
      '/schema.graphql': server,
    },
  },
  test: { environment: 'jsdom', include: ['src/**/*.test.{ts,tsx}'] },
});
