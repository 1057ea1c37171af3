import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

import { within } from '../support/deadlines';
import { test } from '../support/fixtures';

const MOST_STEPS = 120;

/** Presses Tab until the focus is there, and sees to it that it is to be seen at each step. */
async function tabTo(page: Page, target: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  for (let step = 1; step <= MOST_STEPS; step++) {
    await page.keyboard.press(key);
    expect(await page.evaluate(focusIsSeen), `the focus after ${step} × ${key}`).toBe('seen');
    if (await hasFocus(target)) return;
  }
  throw new Error(`${MOST_STEPS} × ${key} did not lead to ${target}`);
}

function hasFocus(target: Locator): Promise<boolean> {
  return target.evaluate((element) => element === document.activeElement);
}

/** Runs in the page. */
function focusIsSeen(): string {
  const element = document.activeElement;
  if (element === null || element === document.body) return 'lost';
  const box = element.getBoundingClientRect();
  const inside = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  if (!inside || box.width === 0) return `out of sight: ${element.outerHTML.slice(0, 120)}`;
  // The ring may be the card's, around a link that covers it.
  const candidates = [
    getComputedStyle(element),
    getComputedStyle(element, '::after'),
    ...[element.closest('article')].filter((card) => card !== null).map((card) => getComputedStyle(card)),
  ];
  const ring = candidates.some(
    ({ outlineStyle, outlineWidth }) => outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2,
  );
  return ring ? 'seen' : `without a ring: ${element.outerHTML.slice(0, 120)}`;
}

for (const key of ['PageDown', 'Space', 'ArrowDown', 'End']) {
  test(`${key} scrolls the page that was just opened, and the one whose empty space was clicked`, async ({ open }) => {
    const visit = await open();
    await visit.pane().item('post:1').settled();
    const scroller = visit.page.locator('.pane-scroll');
    const scrolled = () => scroller.evaluate((element) => element.scrollTop);
    await visit.page.keyboard.press(key);
    await expect.poll(scrolled, within('push')).toBeGreaterThan(0);
    await scroller.evaluate((element) => element.scrollTo(0, 0));
    await visit.page.getByRole('button', { name: 'Dark theme' }).focus();
    await scroller.click({ position: { x: 4, y: 4 } });
    await visit.page.keyboard.press(key);
    await expect.poll(scrolled, within('push')).toBeGreaterThan(0);
  });
}

test('a heart is reached with Tab, and toggled with Space and Enter', async ({ open, person }) => {
  const before = await person('ana').unlike('post:2');
  const visit = await open();
  const item = visit.pane().item('post:2');
  await item.settled();
  await tabTo(visit.page, item.heart);
  await visit.page.keyboard.press('Space');
  await expect.poll(() => item.shown(), within('tap')).toEqual({ liked: true, count: before.count + 1 });
  expect(await item.heart.getAttribute('aria-pressed')).toBe('true');
  await visit.page.keyboard.press('Enter');
  await expect.poll(() => item.shown(), within('tap')).toEqual({ liked: false, count: before.count });
  expect(await hasFocus(item.heart)).toBe(true);
});

test('an item is opened, more of its likers are loaded, and the way back leads to the feed', async ({ open }) => {
  const visit = await open();
  const { page } = visit;
  await visit.pane().item('post:3').settled();
  await tabTo(page, visit.pane().item('post:3').root.getByRole('link'));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 2, name: /Letters/ }).waitFor();
  await page.getByRole('list').filter({ hasText: 'A guest' }).getByRole('listitem').first().waitFor();
  const rows = page.getByRole('list').filter({ hasText: 'A guest' }).getByRole('listitem');
  const more = page.getByRole('button', { name: /Load more|Loading/ });
  await tabTo(page, more);
  const shown = await rows.count();
  await page.keyboard.press('Enter');
  await expect.poll(() => rows.count(), within('push')).toBeGreaterThan(shown);
  await expect.poll(() => page.evaluate(focusIsSeen), within('tap')).toBe('seen');
  await tabTo(page, page.getByRole('link', { name: 'All items' }), 'Shift+Tab');
  await page.keyboard.press('Enter');
  const link = visit.pane().item('post:3').root.getByRole('link');
  await link.waitFor();
  await expect.poll(() => hasFocus(link), within('tap')).toBe(true);
  await page.keyboard.press('Tab');
  expect(await hasFocus(visit.pane().item('post:3').heart)).toBe(true);
});

test('a second pane is opened, and either is closed, without the focus being lost', async ({ open }) => {
  const visit = await open();
  const { page } = visit;
  await visit.pane().item('post:1').settled();
  const opener = page.getByRole('button', { name: 'Open a second pane' });
  await tabTo(page, opener);
  for (const [closed, left] of [
    ['Ben', 'Ana'],
    ['Ana', 'Ben'],
  ] as const) {
    await page.keyboard.press('Enter');
    const viewer = visit.pane('Ben').root.getByRole('combobox', { name: 'Viewing as' });
    await viewer.waitFor();
    await expect.poll(() => hasFocus(viewer), within('tap')).toBe(true);
    const status = page.getByRole('status');
    await expect.poll(() => status.textContent(), within('push')).toContain('Second pane, viewing as Ben');
    const close = visit.pane(closed).root.getByRole('button', { name: 'Close this pane' });
    await tabTo(page, close, closed === 'Ana' ? 'Shift+Tab' : 'Tab');
    await page.keyboard.press('Enter');
    await visit.pane(left).root.waitFor();
    await expect.poll(() => page.evaluate(focusIsSeen), within('tap')).toBe('seen');
    expect(await hasFocus(opener)).toBe(true);
  }
});

test('Back and Forward over a second pane leave the focus where it is', async ({ open }) => {
  const visit = await open();
  const { page } = visit;
  await page.getByRole('button', { name: 'Open a second pane' }).click();
  await visit.pane('Ben').item('post:1').settled();
  await page.goBack();
  await visit.pane('Ben').root.waitFor({ state: 'detached' });
  const card = visit.pane('Ana').item('post:1').root.getByRole('link');
  await card.focus();
  await page.goForward();
  await visit.pane('Ben').item('post:1').settled();
  expect(await hasFocus(card)).toBe(true);
});

test('another viewer is chosen, and the focus stays where it was', async ({ open }) => {
  const visit = await open();
  await visit.pane('Ana').item('post:1').settled();
  const viewer = visit.page.getByRole('combobox', { name: 'Viewing as' });
  await tabTo(visit.page, viewer);
  await visit.page.keyboard.press('ArrowDown');
  await visit.pane('Ben').item('post:1').settled();
  expect(await visit.page.evaluate(focusIsSeen)).toBe('seen');
  expect(await hasFocus(viewer)).toBe(true);
});

test('going through the persons leaves Back as it was', async ({ open }) => {
  const visit = await open({ path: '/#/ana/liked' });
  const { page } = visit;
  await visit.pane('Ana').item('post:1').root.waitFor();
  await page.getByRole('link', { name: 'Feed' }).click();
  await visit.pane('Ana').item('post:1').settled();
  await tabTo(page, page.getByRole('combobox', { name: 'Viewing as' }), 'Shift+Tab');
  for (const name of ['Ben', 'Cleo']) {
    await page.keyboard.press('ArrowDown');
    await visit.pane(name).item('post:1').settled();
  }
  await page.goBack();
  await visit.pane('Ana').root.getByRole('heading', { level: 2, name: 'My likes' }).waitFor();
});

test('the name of the page leads to the feed of whoever looks', async ({ open }) => {
  const visit = await open({ path: '/#/ben/item/post:1' });
  await visit.pane('Ben').item('post:1').settled();
  await tabTo(visit.page, visit.page.getByRole('link', { name: 'Likewise' }));
  await visit.page.keyboard.press('Enter');
  await visit.pane('Ben').item('post:2').settled();
});

test('the dialog keeps the focus, and gives it back to the heart', async ({ open }) => {
  const visit = await open({ path: '/#/signed-out' });
  const item = visit.pane().item('post:1');
  await item.settled();
  await tabTo(visit.page, item.heart);
  await visit.page.keyboard.press('Enter');
  await visit.page.getByRole('dialog').waitFor();
  expect(await visit.page.evaluate(() => document.activeElement?.closest('dialog') !== null)).toBe(true);
  await visit.page.keyboard.press('Escape');
  await visit.page.getByRole('dialog').waitFor({ state: 'hidden' });
  expect(await hasFocus(item.heart)).toBe(true);
});
