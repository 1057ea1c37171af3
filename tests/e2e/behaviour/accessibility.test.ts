import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { describe, expect } from 'vitest';

import { faint } from '../support/contrast';
import { within } from '../support/deadlines';
import { test } from '../support/fixtures';
import type { Visit } from '../support/visit';

/** What axe-core finds that keeps people out, or nearly. */
async function barriers(page: Page, exclude: string[] = []): Promise<string[]> {
  // As the debugger evaluates it: a script element would be stopped by the page's content security policy.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(
    (excluded) => window.axe.run({ exclude: excluded.map((selector) => [selector]) }, { resultTypes: ['violations'] }),
    exclude,
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`);
}

declare global {
  interface Window {
    axe: typeof axe;
  }
}

const ready = async ({ page }: Visit) => {
  await page.locator('[data-connection="live"]').first().waitFor();
  await page.locator('[data-count]').filter({ hasText: /\d/ }).first().waitFor();
};

const places = [
  { name: 'the feed', path: '/#/ana', ready },
  {
    name: 'an item',
    path: '/#/ana/item/photo:sunrise',
    ready: async (visit: Visit) => {
      await ready(visit);
      await visit.page.getByRole('listitem').first().waitFor();
      await visit.page.locator('figure canvas').first().waitFor();
    },
  },
  { name: 'my likes', path: '/#/ana/liked', ready },
  { name: 'two panes', path: '/#/ana+/ben/item/post:3', ready },
  {
    name: 'the dialog',
    path: '/#/signed-out',
    ready: async (visit: Visit) => {
      await ready(visit);
      await visit.pane().item('post:1').tap();
      await visit.page.getByRole('dialog').waitFor();
    },
  },
];

const looks = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  { name: 'on a phone', colorScheme: 'light', viewport: { width: 390, height: 844 } },
] as const;

describe('axe-core finds nothing serious', () => {
  for (const { name: place, path, ready } of places) {
    for (const { name: look, colorScheme, viewport } of looks) {
      test(`on ${place}, ${look}`, async ({ open }) => {
        const visit = await open({ path, colorScheme, viewport, reducedMotion: 'reduce' });
        await ready(visit);
        expect(await barriers(visit.page)).toEqual([]);
      });
    }
  }

  test('with a like that was undone', async ({ open }) => {
    const visit = await open({
      before: (page) =>
        page.route('**/graphql', (route) => {
          const isTap = /mutation (Like|Unlike)\b/.test(route.request().postData() ?? '');
          return isTap
            ? route.fulfill({
                json: { errors: [{ message: 'no', extensions: { code: 'ITEM_CLOSED', retryable: false } }] },
              })
            : route.fallback();
        }),
    });
    await ready(visit);
    await visit.pane().item('post:1').tap();
    await visit.page
      .getByText(/takes no new likes/)
      .first()
      .waitFor();
    expect(await barriers(visit.page)).toEqual([]);
  });
});

describe('axe-core finds nothing serious on GraphiQL', () => {
  // Not ours to mend: Monaco draws lines of text behind the text area that screen readers use, and GraphiQL puts a tab's
  // close button into the tab (nested-interactive).
  const notOurs = ['.monaco-editor', '.graphiql-tab'];

  for (const { name: look, colorScheme, viewport } of looks) {
    test(look, async ({ open }) => {
      const { page } = await open({ path: '/graphiql', colorScheme, viewport, reducedMotion: 'reduce' });
      await page.locator('.graphiql-query-editor .view-line').first().waitFor();
      expect(await barriers(page, notOurs)).toEqual([]);
      await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
      const docs = page.locator('.graphiql-doc-explorer');
      await docs.getByRole('link', { name: 'Query' }).waitFor();
      expect(await barriers(page, notOurs)).toEqual([]);
      await docs.getByRole('link', { name: 'Query' }).click();
      await docs.getByRole('link', { name: 'items', exact: true }).waitFor();
      expect(await barriers(page, notOurs)).toEqual([]);
    });
  }
});

describe('GraphiQL', () => {
  const code = '.monaco-editor .view-line span[class*=mtk], .monaco-editor .editorPlaceholder';
  const lineNumbers = '.monaco-editor .line-numbers:not(.dimmed-line-number)';

  /** How many colours words have in the editor: it paints them some time after they are there. */
  const colours = (page: Page, editor: string) =>
    page
      .locator(`${editor} .view-line span[class*=mtk]`)
      .evaluateAll((words) => new Set(words.map((word) => getComputedStyle(word).color)).size);

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`can be read, ${colorScheme}`, async ({ open }) => {
      const { page } = await open({ path: '/graphiql', colorScheme });
      const editors = ['.graphiql-query-editor', '.graphiql-editor-tool', '.result-window'];
      const painted = async (names: string[]) => {
        for (const name of names) await expect.poll(() => colours(page, name), within('push')).toBeGreaterThan(2);
      };
      await painted(['.graphiql-query-editor']);
      await page.locator('.editorPlaceholder').waitFor();
      expect(await faint(page, `${code}, ${lineNumbers}`)).toEqual([]);
      for (const tab of [/^Feed/, /^Like/, /^MyLikedItems/]) {
        await page.getByRole('tab', { name: tab }).click();
        await page.getByRole('button', { name: /^Execute query/ }).click();
        await painted(String(tab) === '/^Feed/' ? ['.result-window'] : editors);
        expect(await faint(page, `${code}, ${lineNumbers}`)).toEqual([]);
      }
      await page.getByRole('button', { name: 'Headers' }).click();
      await painted(['.graphiql-editor-tool .graphiql-editor:not(.hidden)']);
      expect(await faint(page, code)).toEqual([]);
    });

    test(`has an Execute button in forced colours, ${colorScheme}`, async ({ open }) => {
      const { page } = await open({ path: '/graphiql', colorScheme, forcedColors: 'active' });
      const button = page.getByRole('button', { name: /^Execute query/ });
      await button.waitFor();
      const picture = (await button.locator('svg').screenshot()).toString('base64');
      expect(await page.evaluate(lightAndDark, `data:image/png;base64,${picture}`)).toBeGreaterThan(128);
    });
  }

  test('has one main part and one heading of the first level', async ({ open }) => {
    const { page } = await open({ path: '/graphiql' });
    const main = page.getByRole('main');
    await main.getByRole('tab', { name: /^Feed/ }).waitFor();
    expect(await main.getByRole('heading', { level: 1 }).allTextContents()).toEqual(['GraphiQL on Likewise']);
  });

  test('has tabs whose close buttons are large enough', async ({ open }) => {
    const { page } = await open({ path: '/graphiql' });
    const box = await page.getByRole('tab', { name: /^Feed/ }).getByRole('button', { name: 'Close Tab' }).boundingBox();
    expect(box?.width).toBeGreaterThanOrEqual(24);
    expect(box?.height).toBeGreaterThanOrEqual(24);
  });
});

/** How far the lightest and the darkest point of a picture are apart, of 255. Runs in the page. */
async function lightAndDark(source: string): Promise<number> {
  const image = new Image();
  image.src = source;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
  canvas?.drawImage(image, 0, 0);
  const points = canvas?.getImageData(0, 0, image.width, image.height).data ?? [];
  const greens = [...points].filter((_, index) => index % 4 === 1);
  return Math.max(...greens) - Math.min(...greens);
}

test('numbers that move are not read out, the viewer’s own failures are', async ({ open, person }) => {
  const { count } = await person('ana').unlike('post:8');
  const visit = await open();
  const item = visit.pane().item('post:8');
  await item.settled();
  const live = visit.page.locator('[aria-live], [role=status], [role=alert], [role=log]');
  expect(await live.locator('[data-count]').count()).toBe(0);
  expect(await item.root.locator('[data-count]').evaluate((number) => number.closest('[aria-live]'))).toBeNull();
  await person('dora').like('post:8');
  await expect.poll(() => item.shown()).toMatchObject({ count: count + 1 });
  expect((await live.allTextContents()).join('').trim()).toBe('');
});

test('with forced colours the current view and the choice of a person look like what they are', async ({ open }) => {
  const { page } = await open({ path: '/#/ana', forcedColors: 'active' });
  const views = page.getByRole('navigation').getByRole('link');
  await views.first().waitFor();
  const lines = () => views.evaluateAll((links) => links.map((link) => getComputedStyle(link).textDecorationLine));
  expect(await lines()).toEqual(['underline', 'none']);
  await page.getByRole('link', { name: 'My likes' }).click();
  await expect.poll(lines).toEqual(['none', 'underline']);
  const viewer = await page.getByRole('combobox', { name: 'Viewing as' }).evaluate((select) => {
    const { appearance, borderTopStyle } = getComputedStyle(select);
    return { appearance, borderTopStyle };
  });
  expect(viewer).toEqual({ appearance: 'auto', borderTopStyle: 'solid' });
});
