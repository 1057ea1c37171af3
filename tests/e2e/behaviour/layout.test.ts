import type { Page } from 'playwright-core';
import { describe, expect } from 'vitest';

import { within } from '../support/deadlines';
import { test } from '../support/fixtures';

const phone = { width: 390, height: 844 };

/** Elements that can be scrolled sideways, the page itself among them. Runs in the page. */
function scrollsSideways(): string[] {
  return [...document.querySelectorAll<HTMLElement>('*')]
    .filter((element) => {
      const { overflowX } = getComputedStyle(element);
      const scrolls = element === document.documentElement || overflowX === 'auto' || overflowX === 'scroll';
      return scrolls && element.scrollWidth > element.clientWidth;
    })
    .map((element) => `${element.tagName} ${element.className}: ${element.scrollWidth} > ${element.clientWidth}`);
}

/** Where a finger hits the button: all around its middle, in pixels. Runs in the page. */
function tapArea(button: Element): { width: number; height: number } {
  button.scrollIntoView({ block: 'center' });
  const box = button.getBoundingClientRect();
  const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  const reach = (dx: number, dy: number): number => {
    let steps = 0;
    while (button.contains(document.elementFromPoint(middle.x + dx * steps, middle.y + dy * steps))) steps += 1;
    return steps;
  };
  return { width: reach(-1, 0) + reach(1, 0) - 1, height: reach(0, -1) + reach(0, 1) - 1 };
}

describe('at 390 pixels nothing scrolls sideways', () => {
  const places = [
    { name: 'the feed', path: '/#/ana' },
    { name: 'an item', path: '/#/ana/item/photo:sunrise' },
    { name: 'my likes', path: '/#/ana/liked' },
    { name: 'two panes', path: '/#/ana+/ben/item/post:3' },
  ];
  for (const { name, path } of places) {
    test(`on ${name}`, async ({ open }) => {
      const visit = await open({ path, viewport: phone });
      await visit.page.locator('[data-connection="live"]').first().waitFor();
      await visit.page.getByRole('heading', { level: 2 }).first().waitFor();
      expect(await visit.page.evaluate(scrollsSideways)).toEqual([]);
      const { width, height } = await visit.page
        .getByRole('button', { name: /^Like / })
        .first()
        .evaluate(tapArea);
      expect(width).toBeGreaterThanOrEqual(44);
      expect(height).toBeGreaterThanOrEqual(44);
    });
  }

  test('on the dialog', async ({ open }) => {
    const visit = await open({ path: '/#/signed-out', viewport: phone });
    await visit.pane().item('post:1').tap();
    await visit.page.getByRole('dialog').waitFor();
    expect(await visit.page.evaluate(scrollsSideways)).toEqual([]);
  });
});

test('a click beside the dialog closes it', async ({ open }) => {
  const { page } = await open({ path: '/#/signed-out' });
  const dialog = page.getByRole('dialog');
  const heart = page.getByRole('button', { name: /^Like / }).first();
  for (let round = 1; round <= 2; round++) {
    await heart.click();
    await dialog.getByRole('button', { name: 'Not now', disabled: false }).waitFor();
    await dialog.getByRole('heading').click();
    expect(await dialog.isVisible()).toBe(true);
    await page.mouse.click(5, 400);
    await dialog.waitFor({ state: 'hidden' });
  }
});

test('the page has its head before its script, and keeps it', async ({ open }) => {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const head = (page: Page) => Promise.all(['.page-bar', '.page-logo'].map((part) => page.locator(part).boundingBox()));
  let early: unknown;
  const visit = await open({
    before: async (page) => {
      await page.route('**/*.js', async (route) => {
        await gate;
        await route.continue();
      });
      void page
        .getByText('Loading…')
        .waitFor()
        .then(async () => {
          early = await head(page);
        })
        .finally(release);
    },
  });
  await visit.pane().item('post:1').settled();
  expect(await visit.page.getByText('Loading…').count()).toBe(0);
  expect(await head(visit.page)).toEqual(early);
});

test('without a script the page says what it needs', async ({ open }) => {
  const { page } = await open({ javaScriptEnabled: false });
  await page.getByText(/needs JavaScript/).waitFor();
  expect(await page.getByText('Loading…').isVisible()).toBe(false);
});

/** What has moved since the page was opened, by the name of its animation or transition. */
async function tapAndCollectMotion(page: Page, tap: () => Promise<void>): Promise<string[]> {
  await page.evaluate(() => {
    const moved: string[] = [];
    Object.assign(window, { moved });
    document.addEventListener('transitionrun', (event) => moved.push(event.propertyName));
    document.addEventListener('animationstart', (event) => moved.push(event.animationName));
  });
  await tap();
  return page.evaluate(() => (window as unknown as { moved: string[] }).moved);
}

test('a tapped heart moves, but not where motion is to be reduced', async ({ open }) => {
  const motions = ['no-preference', 'reduce'] as const;
  const moved = await Promise.all(
    motions.map(async (reducedMotion) => {
      const visit = await open({ reducedMotion, path: '/#/ana' });
      const item = visit.pane().item('post:6');
      await item.settled();
      return tapAndCollectMotion(visit.page, () => item.tap());
    }),
  );
  expect(moved[0]).toContain('transform');
  expect(moved[1]).not.toContain('transform');
});

test('a heart that a key fills moves as well, one that was filled before does not', async ({ open, person }) => {
  await person('ana').like('post:5');
  await person('ana').unlike('post:6');
  const visit = await open({ reducedMotion: 'no-preference', path: '/#/ana' });
  const [filled, empty] = [visit.pane().item('post:5'), visit.pane().item('post:6')];
  const moved = visit.page.evaluateHandle(() => {
    const labels: string[] = [];
    document.addEventListener('animationend', ({ elapsedTime, target }) => {
      const label = (target as Element).closest('button')?.getAttribute('aria-label');
      if (label && elapsedTime > 0) labels.push(label);
    });
    return labels;
  });
  await filled.settled();
  await filled.heart.focus();
  await empty.heart.press('Enter');
  const labels = () => moved.then((handle) => handle.jsonValue());
  await expect.poll(labels, within('push')).toEqual([await empty.heart.getAttribute('aria-label')]);
});

test('the number grows without moving what is beside it', async ({ open, person }) => {
  await person('ana').unlike('post:7');
  const visit = await open();
  const item = visit.pane().item('post:7');
  await item.settled();
  const height = () => item.root.evaluate((article) => article.getBoundingClientRect().height);
  const before = await height();
  await item.tap();
  expect((await item.shown()).liked).toBe(true);
  expect(await height()).toBe(before);
});

/** What is behind a heart once it has stopped changing. Runs in the page. */
async function settledColour(button: Element): Promise<string> {
  const pill = button.parentElement ?? button;
  await Promise.all(pill.getAnimations().map(({ finished }) => finished));
  return getComputedStyle(pill).backgroundColor;
}

describe('an empty heart does not look filled', () => {
  const looks = [
    { name: 'after a touch took its like back', hasTouch: true, isMobile: true, viewport: phone },
    { name: 'under a mouse', hasTouch: false, isMobile: false, viewport: { width: 1280, height: 800 } },
  ];
  for (const { name, ...device } of looks) {
    test(name, async ({ open, person }) => {
      await person('ana').unlike('post:1');
      const visit = await open(device);
      const item = visit.pane().item('post:1');
      await item.settled();
      const colour = () => item.heart.evaluate(settledColour);
      const tap = () => (device.hasTouch ? item.heart.tap() : item.heart.click());
      const empty = await colour();
      await tap();
      await expect.poll(() => item.shown()).toMatchObject({ liked: true });
      const filled = await colour();
      expect(filled).not.toBe(empty);
      await tap();
      await expect.poll(() => item.shown()).toMatchObject({ liked: false });
      expect(await colour()).not.toBe(filled);
      if (device.hasTouch) expect(await colour()).toBe(empty);
    });
  }
});

describe('in a low window there are whole hearts at first', () => {
  for (const [width, height] of [
    [844, 390],
    [667, 375],
    [1280, 400],
  ] as const) {
    test(`of ${width} × ${height}`, async ({ open }) => {
      const visit = await open({ path: '/#/ana', viewport: { width, height } });
      await visit.pane().item('post:1').settled();
      const heart = await visit.pane().item('post:1').heart.locator('..').boundingBox();
      expect(heart && heart.y + heart.height).toBeLessThan(height);
    });
  }
});

test('the line beside the name takes one line or is left out', async ({ open }) => {
  const { page } = await open();
  const line = page.locator('.page-tagline');
  const oneLine = (await line.boundingBox())?.height;
  expect(oneLine).toBeGreaterThan(0);
  for (const width of [768, 844, 900, 960, 961, 1024]) {
    await page.setViewportSize({ width, height: 800 });
    if (await line.isVisible()) expect((await line.boundingBox())?.height, `at ${width}`).toBe(oneLine);
  }
});

/** What of a card the notice in it lies on. Runs in the page. */
function hidden(notice: Element): string[] {
  const over = notice.getBoundingClientRect();
  const parts = [...(notice.closest('.card')?.querySelectorAll('h3, .card-text p, .like') ?? [])];
  return parts
    .filter((part) => {
      const { top, bottom, left, right, width } = part.getBoundingClientRect();
      return width > 0 && top < over.bottom && bottom > over.top && left < over.right && right > over.left;
    })
    .map((part) => part.className || part.tagName);
}

describe('a notice hides neither title nor heart', () => {
  const windows = [
    { name: 'of a desktop', path: '/#/ana', viewport: { width: 1280, height: 800 } },
    { name: 'of a phone', path: '/#/ana', viewport: phone },
    { name: 'of two panes on the narrowest phone', path: '/#/ana+/ben', viewport: { width: 320, height: 740 } },
    { name: 'of a phone held sideways', path: '/#/ana', viewport: { width: 844, height: 390 } },
  ];
  for (const { name, path, viewport } of windows) {
    test(`in the window ${name}`, async ({ open, person }) => {
      await person('ana').like('post:1');
      const visit = await open({
        path,
        viewport,
        before: (page) =>
          page.route('**/graphql', (route) => {
            const isTap = /mutation Unlike/.test(route.request().postData() ?? '');
            const errors = [{ message: 'no', extensions: { code: 'FORBIDDEN', retryable: false } }];
            return isTap ? route.fulfill({ json: { errors } }) : route.fallback();
          }),
      });
      const item = visit.pane('Ana').item('post:1');
      await item.settled();
      await item.tap();
      const notice = item.root.locator('.notice');
      await notice.waitFor();
      expect(await notice.evaluate(hidden)).toEqual([]);
    });
  }
});

test('all of the feed is printed', async ({ open }) => {
  const visit = await open({ path: '/#/ana', colorScheme: 'dark' });
  await visit.pane().item('post:1').settled();
  await visit.page.getByRole('button', { name: 'Dark theme' }).click();
  await visit.page.getByRole('button', { name: 'Dark theme' }).click();
  const sheets = (await visit.page.pdf()).toString('latin1').match(/\/Type \/Page\b/g) ?? [];
  // Two dozen cards, at most six on a sheet.
  expect(sheets.length).toBeGreaterThanOrEqual(4);
  await visit.page.emulateMedia({ media: 'print' });
  expect(await visit.page.evaluate(() => getComputedStyle(document.documentElement).colorScheme)).toBe('light');
});

test('nothing moves below a burst, whatever it says', async ({ open }) => {
  for (const path of ['/#/ana/item/game:go+/ben/item/game:go', '/#/ana/item/game:go']) {
    const visit = await open({ path });
    const plots = visit.pane('Ana').root.getByRole('region', { name: 'Live' });
    const top = async () => (await plots.boundingBox())?.y;
    const { root } = visit.pane('Ana');
    await visit.pane('Ana').item('game:go').settled();
    const before = await top();
    await root.getByRole('button', { name: 'Send a burst' }).click();
    await root.getByRole('progressbar').waitFor();
    expect(await top()).toBe(before);
    await root.getByRole('button', { name: 'Cancel' }).click();
    await root.getByText(/then cancelled/).waitFor();
    expect(await top()).toBe(before);
  }
});
