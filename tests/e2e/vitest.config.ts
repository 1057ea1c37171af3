import { defineConfig } from 'vitest/config';

// A file has a server and a browser of its own: two at a time are what two cores carry. What is measured runs by itself.
export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    retry: 0,
    projects: [
      {
        extends: true,
        test: { name: 'behaviour', include: ['behaviour/*.test.ts'], maxWorkers: 2, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: { name: 'measured', include: ['measured/*.test.ts'], maxWorkers: 1, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
