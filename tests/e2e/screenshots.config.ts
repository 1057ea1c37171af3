import { defineConfig } from 'vitest/config';

// Takes the pictures in docs/images anew: `npm run screenshots`.
export default defineConfig({
  test: { include: ['screenshots/*.test.ts'], testTimeout: 60_000, hookTimeout: 60_000, maxWorkers: 1 },
});
