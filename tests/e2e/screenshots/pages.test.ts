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

const busy = 'photo:rooftops';

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

test('the demo page, dark: an item while it is liked by a crowd', async ({ open, person, stand }) => {
  const visit = await demo(await open({ path: `/#/ana/item/${busy}`, colorScheme: 'dark', ...desktop }));
  const node = stand.nodes[0];
  if (!node) throw new Error('the stand has no node');
  for (const friend of ['ana', 'ben', 'cleo', 'dan', 'eva']) await person(friend).unlike(busy);
  for (let wave = 1; wave <= 3; wave++) await crowdLikes(node.url, busy, 100 * wave);
  for (const friend of ['dan', 'ben']) await person(friend).like(busy);
  const item = visit.pane().item(busy);
  await item.tap();
  await expect.poll(() => item.line.textContent(), within('push')).toMatch(/you, Ben, Dan and/);
  await take(visit, 'demo-dark');
});

test('the demo page: two people side by side', async ({ open }) => {
  const visit = await demo(await open({ path: '/#/ana+/ben', colorScheme: 'light', ...desktop }));
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

/** How many colours an editor's words have: it paints them some time after they are there. */
function colours({ page }: Visit, editor: string): Promise<number> {
  const words = page.locator(`${editor} .view-line span[class^=mtk]`);
  return words.evaluateAll((found) => new Set(found.map((word) => word.className)).size);
}

for (const { name, ...look } of kinds) {
  test(name, async ({ open }) => {
    const visit = await open({ path: '/graphiql', ...look });
    await visit.page.locator('.graphiql-query-editor .view-line').first().waitFor();
    await visit.page.getByRole('button', { name: /^Execute query/ }).click();
    await visit.page.locator('.result-window .view-line', { hasText: /\S/ }).first().waitFor();
    for (const editor of ['.graphiql-query-editor', '.result-window']) {
      await expect.poll(() => colours(visit, editor), within('push')).toBeGreaterThan(2);
    }
    await take(visit, name);
  });
}
