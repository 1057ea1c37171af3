import type { Locator } from 'playwright-core';
import { describe, expect } from 'vitest';

import { within } from '../support/deadlines';
import { test } from '../support/fixtures';
import type { Visit } from '../support/visit';

// That no other host is asked for is what every visit checks; Chromium could not reach one either.

/** Runs the operation of a tab, and returns where the answer is shown. */
async function run({ page }: Visit, tab: RegExp): Promise<Locator> {
  await page.getByRole('tab', { name: tab }).click();
  await page.getByRole('button', { name: /^Execute query/ }).click();
  return page.getByRole('region', { name: 'Result Window' });
}

/** The lines that are in view: Monaco draws no others, and spaces as no-break spaces. */
async function text(shown: Locator): Promise<string> {
  const lines = await shown.locator('.view-line').allTextContents();
  return lines.join('\n').replaceAll('\u00a0', ' ');
}

/** The editor below the operation, where it is the one that is shown. */
const tool = ({ page }: Visit, name: string) =>
  page.getByRole('region', { name }).locator('.graphiql-editor').filter({ visible: true });

async function headers(visit: Visit): Promise<string> {
  await visit.page.getByRole('button', { name: 'Headers' }).click();
  const shown = tool(visit, 'Headers');
  await expect.poll(() => text(shown), within('push')).toMatch(/\}$/);
  return text(shown);
}

const ready = async ({ page }: Visit) => {
  await page.getByRole('tab', { name: /Feed/ }).waitFor();
  await page.locator('.graphiql-query-editor .view-line').first().waitFor();
};

test('the first tabs query, like and unlike, as Ana', async ({ open, person }) => {
  const before = await person('ana').unlike('photo:sunrise');
  const visit = await open({ path: '/graphiql' });
  await ready(visit);
  const feed = await run(visit, /^Feed/);
  await expect.poll(() => text(feed), within('push')).toMatch(/"likeCount": \d+/);
  const like = await run(visit, /^Like/);
  await expect.poll(() => text(like), within('push')).toMatch(/"changed": true/);
  expect(await person('ana').item('photo:sunrise')).toMatchObject({ liked: true, version: before.version + 1 });
  const unlike = await run(visit, /^Unlike/);
  await expect.poll(() => text(unlike), within('push')).toMatch(/"unlike"[\s\S]*"changed": true/);
  expect(await person('ana').item('photo:sunrise')).toMatchObject({ liked: false, version: before.version + 2 });
  const mine = await run(visit, /^MyLikedItems/);
  await expect.poll(() => text(mine), within('push')).toMatch(/"name": "Ana"/);
});

test('the subscription shows a change that somebody else makes', async ({ open, person }) => {
  const { count } = await person('dora').unlike('photo:sunrise');
  const visit = await open({ path: '/graphiql' });
  await ready(visit);
  const watch = await run(visit, /^Watch/);
  await expect.poll(() => text(watch), within('push')).toContain(`"likeCount": ${count}`);
  await person('dora').like('photo:sunrise');
  await expect.poll(() => text(watch), within('push')).toContain(`"likeCount": ${count + 1}`);
});

test('the documentation explorer opens, and knows the schema', async ({ open }) => {
  const visit = await open({ path: '/graphiql' });
  await ready(visit);
  await visit.page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
  const docs = visit.page.locator('.graphiql-doc-explorer');
  await docs.getByRole('link', { name: 'Subscription' }).click();
  await docs.getByText('itemUpdated').waitFor();
});

test('the variables of an operation are shown, the headers are a tap away', async ({ open }) => {
  const visit = await open({ path: '/graphiql' });
  await ready(visit);
  await visit.page.getByRole('tab', { name: /^Like/ }).click();
  await expect.poll(() => text(tool(visit, 'Variables')), within('push')).toContain('"idempotencyKey": "like-');
  expect(await headers(visit)).toContain('You are ana');
});

test('an empty answer says how to get one', async ({ open }) => {
  const visit = await open({ path: '/graphiql' });
  await ready(visit);
  const hint = visit.page.getByText('Press ▶ or Ctrl-Enter to run the operation.');
  await hint.waitFor();
  await run(visit, /^Feed/);
  await hint.waitFor({ state: 'hidden' });
});

test('whoever signed out on the demo page is nobody, also after being Ben', async ({ open }) => {
  const visit = await open({ path: '/#/ben' });
  await visit.page.getByRole('region', { name: 'Viewing as Ben' }).waitFor();
  await visit.page.goto(`${visit.origin}/#/signed-out`);
  await visit.page.getByRole('region', { name: 'Viewing as Ben' }).waitFor({ state: 'detached' });
  await visit.page.getByRole('link', { name: 'GraphiQL' }).click();
  await ready(visit);
  expect(await headers(visit)).toMatch(/You are anonymous[\s\S]*choose a person/);
  const mine = await run(visit, /^MyLikedItems/);
  await expect.poll(() => text(mine), within('push')).toMatch(/"viewer": null/);
  await visit.page.getByRole('link', { name: 'Likewise' }).click();
  await visit.page.getByRole('region', { name: 'Viewing signed out' }).waitFor();
});

test('the theme of the demo page holds here too, until the settings say otherwise', async ({ open }) => {
  const visit = await open({ path: '/#/ana', colorScheme: 'light' });
  const { page } = visit;
  const theme = async () => {
    const colour = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((found) => getComputedStyle(found).color);
    return [await colour('.graphiql-container'), await colour('.graphiql-query-editor .view-line span span')];
  };
  const toBe = (shown: string[]) => expect.poll(theme, within('push')).toEqual(shown);
  // Of the page's text, and of the comment in the editor.
  const light = ['rgb(59, 75, 104)', 'rgb(0, 128, 0)'];
  const dark = ['rgb(183, 194, 215)', 'rgb(140, 184, 120)'];
  const choose = async (name: string) => {
    await page.getByRole('button', { name: 'Open settings dialog' }).click();
    await page.getByRole('button', { name, exact: true }).click();
    await page.keyboard.press('Escape');
  };
  const again = async () => {
    await page.reload();
    await ready(visit);
  };

  await page.getByRole('button', { name: 'Dark theme' }).click();
  await page.getByRole('link', { name: 'GraphiQL' }).click();
  await ready(visit);
  await toBe(dark);
  await again();
  await toBe(dark);
  await choose('Light');
  await toBe(light);
  await again();
  await toBe(light);
  await choose('System');
  await again();
  await toBe(light);
  await page.emulateMedia({ colorScheme: 'dark' });
  await toBe(dark);
});

const edges = (shown: Locator) =>
  shown.evaluate((element) => {
    // Text is narrower than a block.
    const range = document.createRange();
    range.selectNodeContents(element);
    const { left, right } = range.getBoundingClientRect();
    return { left, right };
  });

test('beside an operation, the search leaves the title of the documentation free', async ({ open }) => {
  const visit = await open({ path: '/graphiql', viewport: { width: 768, height: 1024 } });
  await ready(visit);
  await visit.page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
  const title = await edges(visit.page.locator('.graphiql-doc-explorer-title'));
  const search = await edges(visit.page.locator('.graphiql-doc-explorer-search'));
  expect(title.right).toBeLessThan(search.left);
});

describe('on a phone', () => {
  const phone = { path: '/graphiql', viewport: { width: 390, height: 844 } };

  test('the documentation has the window to itself while it is open', async ({ open }) => {
    const visit = await open(phone);
    await ready(visit);
    const editor = visit.page.getByRole('region', { name: 'Operation Editor' });
    const before = await editor.boundingBox();
    await visit.page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
    await editor.waitFor({ state: 'hidden' });
    expect((await edges(visit.page.locator('.graphiql-doc-explorer-search'))).right).toBeGreaterThan(350);
    await visit.page.getByRole('button', { name: 'Hide Documentation Explorer' }).click();
    await editor.waitFor();
    expect(await editor.boundingBox()).toEqual(before);
  });

  test('the way back is in view, and tabs fade where more of them lie', async ({ open }) => {
    const visit = await open(phone);
    await ready(visit);
    expect((await edges(visit.page.getByRole('link', { name: 'Likewise' }))).right).toBeLessThanOrEqual(390);
    const tabs = visit.page.getByRole('tablist');
    expect(await tabs.evaluate((list) => getComputedStyle(list).maskImage)).toContain('linear-gradient');
    await visit.page.getByRole('tab', { name: /^MyLikedItems/ }).click();
    const room = await tabs.evaluate((list) => {
      list.scrollLeft = list.scrollWidth;
      const last = list.lastElementChild ?? list;
      return list.getBoundingClientRect().right - last.getBoundingClientRect().right;
    });
    expect(room).toBeGreaterThanOrEqual(24);
  });
});
