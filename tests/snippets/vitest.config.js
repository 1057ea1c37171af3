import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [react({ babel: { plugins: [['relay', { eagerEsModules: true }]] } })],
  test: {
    globalSetup: './src/paste.js',
    environment: 'jsdom',
    include: ['*.test.js'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
