import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

import catalogue from '../../../client-demo/src/demo/catalogue.json' with { type: 'json' };
import { within } from '../support/deadlines';
import { Pane } from '../support/demo';
import { test } from '../support/fixtures';

/** Turns the wheel until the list has no more to load; fails where it stops growing before. */
async function scrollToEnd(page: Page, list: Locator, more: Locator): Promise<void> {
  const box = await list.boundingBox();
  if (!box) throw new Error('the list is not to be seen');
  await page.mouse.move(box.x + box.width / 2, Math.min(box.y + 20, 700));
  while ((await more.count()) > 0) {
    const rows = await list.getByRole('listitem').count();
    const grown = async () => {
      await page.mouse.wheel(0, 4_000);
      return (await more.count()) === 0 || (await list.getByRole('listitem').count()) > rows;
    };
    await expect.poll(grown, within('push')).toBe(true);
  }
}

test('scrolling brings all the likers of an item, newest first', async ({ open, person }) => {
  for (const user of ['ana', 'ben']) await person(user).unlike('photo:fjord');
  await person('ana').like('photo:fjord');
  const { count } = await person('ben').like('photo:fjord');
  expect(count).toBeGreaterThan(200);
  const visit = await open({ path: '/#/ben/item/photo:fjord' });
  const list = visit.page.getByRole('list').filter({ hasText: 'A guest' });
  await list.getByRole('listitem').first().waitFor();
  expect(await list.getByRole('listitem').count()).toBeLessThanOrEqual(60);
  await scrollToEnd(visit.page, list, visit.page.getByRole('button', { name: /Load more|Loading/ }));
  const rows = await list.getByRole('listitem').evaluateAll((items) =>
    items.map((item) => ({
      text: item.textContent,
      likedAt: item.querySelector('time')?.dateTime ?? '',
    })),
  );
  expect(rows.length).toBe(count);
  expect(rows[0]?.text).toMatch(/You/);
  expect(rows[1]?.text).toMatch(/Ana/);
  const times = rows.map((row) => row.likedAt);
  expect(times).toEqual(times.toSorted().toReversed());
});

test('scrolling brings all that the viewer likes, newest first', async ({ open, person }) => {
  const ids = catalogue.items.map((item) => item.id);
  for (const id of ids) {
    await person('eva').unlike(id);
    await person('eva').like(id);
  }
  const visit = await open({ path: '/#/eva/liked' });
  const list = visit.page.getByRole('list').filter({ has: visit.page.locator('article') });
  const cards = visit.page.locator('article[data-item]');
  await cards.first().waitFor();
  expect(await cards.count()).toBeLessThan(ids.length);
  await scrollToEnd(visit.page, list, visit.page.getByRole('button', { name: /Load more|Loading/ }));
  expect(await cards.evaluateAll((found) => found.map((card) => card.getAttribute('data-item')))).toEqual(
    ids.toReversed(),
  );
  for (const id of ids) expect((await visit.pane().item(id).settled()).liked).toBe(true);
});

test('what the viewer liked in the other pane can be shown among their likes', async ({ open, person }) => {
  await person('dan').unlike('game:go');
  const visit = await open({ path: '/#/dan+/dan/liked' });
  const panes = visit.page.locator('section[aria-label^="Viewing"]');
  const [left, right] = [new Pane(panes.first()), new Pane(panes.last())];
  await right.root.locator('article[data-item], .empty').first().waitFor();
  const newest = right.root.getByRole('button', { name: 'Show the newest' });
  await left.item('game:go').settled();
  expect(await newest.count()).toBe(0);
  await left.item('game:go').tap();
  await newest.click();
  await right.root.locator('article[data-item]').first().and(right.item('game:go').root).waitFor();
  expect((await right.item('game:go').settled()).liked).toBe(true);
  await newest.waitFor({ state: 'hidden' });
});

test('a list that cannot be read says so, and can be tried again', async ({ open, person }) => {
  await person('cleo').like('game:chess');
  let failing = true;
  const visit = await open({
    path: '/#/cleo/liked',
    before: (page) =>
      page.route('**/graphql', (route) => {
        const isList = route.request().postData()?.includes('likedItems') ?? false;
        return isList && failing ? route.fulfill({ status: 503, body: 'no' }) : route.fallback();
      }),
  });
  visit.expectConsole(/503/);
  const again = visit.page.getByRole('button', { name: 'Try again' });
  await again.waitFor();
  failing = false;
  await again.click();
  expect((await visit.pane().item('game:chess').settled()).liked).toBe(true);
});
