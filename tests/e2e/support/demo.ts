import type { Locator } from 'playwright-core';

export interface Shown {
  readonly liked: boolean;
  readonly count: number | null;
}

/** One viewer's part of the page. */
export class Pane {
  constructor(readonly root: Locator) {}

  /** The card in a feed, or the head of the item's own page. */
  item(id: string): ItemView {
    return new ItemView(this.root.locator(`article[data-item="${id}"]`));
  }

  async viewAs(name: string): Promise<void> {
    await this.root.getByLabel('Viewing as').selectOption({ label: name });
  }

  connection(): Promise<string | null> {
    return this.root.locator('[data-connection]').first().getAttribute('data-connection');
  }
}

export class ItemView {
  constructor(readonly root: Locator) {}

  get heart(): Locator {
    return this.root.getByRole('button', { name: /^Like / });
  }

  get line(): Locator {
    return this.root.locator('[data-like-line]');
  }

  tap(): Promise<void> {
    return this.heart.click();
  }

  /** Heart and number as they stand in one frame. */
  shown(): Promise<Shown> {
    return this.root.evaluate((article) => {
      const digits = article.querySelector('[data-count]')?.textContent?.replaceAll(/\D/g, '') ?? '';
      return {
        liked: article.querySelector('button[aria-pressed]')?.getAttribute('aria-pressed') === 'true',
        count: digits === '' ? null : Number(digits),
      };
    });
  }

  /** Heart and number once the number is known. */
  async settled(): Promise<{ liked: boolean; count: number }> {
    await this.root.locator('[data-count]').filter({ hasText: /\d/ }).waitFor();
    const { liked, count } = await this.shown();
    if (count === null) throw new Error('the number went away');
    return { liked, count };
  }
}
