import type { Page } from 'playwright-core';

/** What a page is told when its tab goes to the background. */
export async function hide(page: Page): Promise<void> {
  await page.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => 'hidden' });
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => true });
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
  });
}

/** The tab is looked at again. Returns when that was, by the page's clock. */
export function show(page: Page): Promise<number> {
  return page.evaluate(() => {
    Reflect.deleteProperty(document, 'visibilityState');
    Reflect.deleteProperty(document, 'hidden');
    const shown = performance.now();
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
    return shown;
  });
}
