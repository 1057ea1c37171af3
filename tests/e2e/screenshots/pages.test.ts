import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';

import { crowdLikes } from '../support/crowd';
import { within } from '../support/deadlines';
import { test } from '../support/fixtures';
import type { Visit } from '../support/visit';

const folder = join(import.meta.dirname, '../../../docs/images');
const desktop = { viewport: { width: 1280, height: 800 } };
const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

async function take({ page }: Visit, name: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled', caret: 'hide' });
}

const demo = async (visit: Visit): Promise<Visit> => {
  await visit.page.locator('[data-connection="live"]').first().waitFor();
  await visit.page.locator('[data-count]').filter({ hasText: /\d/ }).first().waitFor();
  return visit;
};

test('the demo page, light', async ({ open }) => {
  await take(await demo(await open({ path: '/#/ana', colorScheme: 'light', ...desktop })), 'demo-light');
});

test('the demo page, dark: an item while it is liked by a crowd', async ({ open, stand }) => {
  const visit = await demo(await open({ path: '/#/ana/item/photo:sunrise', colorScheme: 'dark', ...desktop }));
  const node = stand.nodes[0];
  if (!node) throw new Error('the stand has no node');
  for (let wave = 1; wave <= 3; wave++) await crowdLikes(node.url, 'photo:sunrise', 100 * wave);
  await expect
    .poll(async () => (await visit.pane().item('photo:sunrise').shown()).count, within('push'))
    .toBeGreaterThan(1_800);
  await take(visit, 'demo-dark');
});

test('the demo page: two people side by side', async ({ open }) => {
  const visit = await demo(await open({ path: '/#/ana/item/post:3+/ben', colorScheme: 'light', ...desktop }));
  await take(visit, 'demo-two-panes');
});

test('the demo page, on a phone', async ({ open }) => {
  await take(await demo(await open({ path: '/#/cleo', colorScheme: 'light', ...phone })), 'demo-phone');
});

const kinds = [
  { name: 'graphiql-light', colorScheme: 'light', ...desktop },
  { name: 'graphiql-dark', colorScheme: 'dark', ...desktop },
  { name: 'graphiql-phone', colorScheme: 'light', ...phone },
] as const;

for (const { name, ...look } of kinds) {
  test(name, async ({ open }) => {
    const visit = await open({ path: '/graphiql', ...look });
    await visit.page.locator('.graphiql-query-editor .view-line').first().waitFor();
    await visit.page.getByRole('button', { name: /^Execute query/ }).click();
    await visit.page.locator('.result-window .view-line', { hasText: /\S/ }).first().waitFor();
    await take(visit, name);
  });
}
