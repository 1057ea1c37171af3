import type { Page } from 'playwright-core';
import { describe, expect } from 'vitest';

import { test } from '../support/fixtures';

const narrowest = { width: 320, height: 740 };

/** What stands outside the window or of what clips it, by its class and its text. Runs in the page. */
function cutOffs(): string[] {
  const found: string[] = [];
  for (const element of document.querySelectorAll('.page-bar *, .pane *')) {
    if (element.closest('.visually-hidden, svg *, .uplot')) continue;
    const { left, right, width } = element.getBoundingClientRect();
    let [from, to] = [0, innerWidth];
    for (let clip = element.parentElement; clip; clip = clip.parentElement) {
      if (getComputedStyle(clip).overflowX === 'visible') continue;
      const box = clip.getBoundingClientRect();
      [from, to] = [Math.max(from, box.left), Math.min(to, box.right)];
    }
    if (width > 0 && (left < from - 0.5 || right > to + 0.5)) {
      found.push(`${element.tagName} ${element.getAttribute('class')}: ${element.textContent?.slice(0, 30)}`);
    }
  }
  return found;
}

/** The longest that the badge of a connection says. */
async function reconnecting(page: Page): Promise<void> {
  await page.evaluate(() => {
    for (const badge of document.querySelectorAll<HTMLElement>('[data-connection]')) {
      badge.dataset['connection'] = 'reconnecting';
      badge.textContent = 'Reconnecting';
    }
  });
}

describe('at 320 pixels nothing is cut off', () => {
  const places = [
    { name: 'the feed', path: '/#/cleo' },
    { name: 'an item', path: '/#/ana/item/photo:sunrise' },
    { name: 'my likes', path: '/#/ana/liked' },
    { name: 'two panes', path: '/#/ana+/cleo/item/post:3' },
    { name: 'two panes signed out', path: '/#/signed-out+/signed-out' },
  ];
  for (const { name, path } of places) {
    test(`on ${name}`, async ({ open }) => {
      const visit = await open({ path, viewport: narrowest });
      await visit.page.locator('[data-connection="live"]').first().waitFor();
      await visit.page.locator('[data-count]').filter({ hasText: /\d/ }).first().waitFor();
      expect(await visit.page.evaluate(cutOffs)).toEqual([]);
      await reconnecting(visit.page);
      expect(await visit.page.evaluate(cutOffs)).toEqual([]);
    });
  }
});
