import type { Page } from 'playwright-core';
import { expect } from 'vitest';

import { test } from '../support/fixtures';

/** As a browser that keeps nothing for this page. */
const forbidStorage = (page: Page) =>
  page.addInitScript(() => {
    for (const name of ['localStorage', 'sessionStorage']) {
      Object.defineProperty(window, name, {
        get() {
          throw new DOMException('Access is denied for this document.', 'SecurityError');
        },
      });
    }
  });

/** As one that has no room left. */
const fillStorage = (page: Page) =>
  page.addInitScript(() => {
    Storage.prototype.setItem = () => {
      throw new DOMException('The quota has been exceeded.', 'QuotaExceededError');
    };
  });

for (const [name, before] of [
  ['forbidden', forbidStorage],
  ['full', fillStorage],
] as const) {
  test(`with storage ${name} hearts, viewers and themes work`, async ({ open }) => {
    const visit = await open({ path: '/#/ana', before });
    const item = visit.pane().item('post:9');
    const { liked } = await item.settled();
    await item.tap();
    expect((await item.shown()).liked).toBe(!liked);

    const dark = visit.page.getByRole('button', { name: 'Dark theme' });
    for (const pressed of ['true', 'false']) {
      await dark.click();
      expect(await dark.getAttribute('aria-pressed')).toBe(pressed);
    }
    await visit.pane().viewAs('Ben');
    await visit.page.getByRole('region', { name: 'Viewing as Ben' }).waitFor();
    await visit.pane().item('post:9').settled();
  });
}
