import type { Response } from 'playwright-core';
import { expect } from 'vitest';

import { test } from '../support/fixtures';

const MOST_BYTES = 120 * 1024;

test('the first load of the demo page is under 120 KB', async ({ open }) => {
  const responses: Response[] = [];
  const visit = await open({
    before: async (page) => {
      page.on('response', (response) => responses.push(response));
    },
  });
  await visit.pane().item('post:1').settled();
  await visit.page.waitForLoadState('networkidle');
  const sizes = await Promise.all(
    responses.map(async (response) => {
      const { responseBodySize, responseHeadersSize } = await response.request().sizes();
      return { path: new URL(response.url()).pathname, bytes: responseBodySize + responseHeadersSize };
    }),
  );
  const files = sizes.filter(({ path }) => path === '/' || path.startsWith('/assets/'));
  expect(files.length).toBeGreaterThan(2);
  expect(sizes.length).toBeGreaterThan(files.length);
  const sum = (list: readonly { bytes: number }[]) => list.reduce((total, { bytes }) => total + bytes, 0);
  const kilobytes = (bytes: number) => (bytes / 1024).toFixed(1);
  console.log(
    `measured: first load: ${files.length} files, ${kilobytes(sum(files))} KB; with the answers ${kilobytes(sum(sizes))} KB`,
  );
  expect(sum(sizes)).toBeLessThan(MOST_BYTES);
});
