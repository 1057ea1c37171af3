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

/** As somebody who chose text of twice the usual size in their browser. */
async function largeText(page: Page): Promise<void> {
  const debug = await page.context().newCDPSession(page);
  await debug.send('Page.setFontSizes', { fontSizes: { standard: 32 } });
}

/** Lets everything have that many likes, whatever the server says. */
function withLikes(likes: number): (page: Page) => Promise<void> {
  const edited = (text: string) =>
    text
      .replaceAll(/"likeCount":\d+/g, `"likeCount":${likes}`)
      .replaceAll(/"othersCount":\d+/g, `"othersCount":${likes}`);
  return async (page) => {
    await page.route('**/graphql', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: edited(await response.text()) });
    });
    await page.routeWebSocket(/\/graphql$/, (socket) => {
      socket.connectToServer().onMessage((message) => socket.send(edited(message.toString())));
    });
  };
}

test('at 320 pixels there is a way to GraphiQL', async ({ open }) => {
  const { page } = await open({ viewport: narrowest });
  await page.getByRole('link', { name: 'GraphiQL', exact: true }).click();
  await page.getByRole('button', { name: /^Execute query/ }).waitFor();
});

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

  for (const likes of [1_234_567, Number.MAX_SAFE_INTEGER]) {
    for (const path of ['/#/cleo', '/#/cleo/item/post:1', '/#/ana+/cleo', '/#/ana/item/post:1+/cleo/item/post:1']) {
      test(`with ${likes} likes on ${path}`, async ({ open }) => {
        const visit = await open({ path, viewport: narrowest, before: withLikes(likes) });
        const article = visit.page.locator('article[data-item="post:1"]').first();
        await article.locator('[data-count]').getByText(likes.toLocaleString('en')).waitFor();
        expect(await visit.page.evaluate(cutOffs)).toEqual([]);
        const line = await article.locator('[data-like-line]').boundingBox();
        expect(line?.width).toBeGreaterThan(100);
      });
    }
  }

  test('with an id as long as ids may be', async ({ open }) => {
    const visit = await open({ path: `/#/ana/item/${'x'.repeat(255)}`, viewport: narrowest });
    await visit.page.locator('[data-count]').filter({ hasText: /\d/ }).waitFor();
    expect(await visit.page.evaluate(cutOffs)).toEqual([]);
  });
});

describe('with text of twice the size nothing is cut off', () => {
  const windows = [
    { width: 390, height: 844 },
    { width: 1280, height: 800 },
  ];
  for (const viewport of windows) {
    for (const path of ['/#/cleo', '/#/ana/item/photo:sunrise', '/#/ana+/cleo/liked']) {
      test(`at ${viewport.width} pixels on ${path}`, async ({ open }) => {
        const { page } = await open({ path, viewport, before: largeText });
        await page.locator('[data-count]').filter({ hasText: /\d/ }).first().waitFor();
        const text = page.locator('.like-count').first();
        expect(await text.evaluate((number) => getComputedStyle(number).fontSize)).toBe('32px');
        expect(await page.evaluate(cutOffs)).toEqual([]);
      });
    }
  }
});
