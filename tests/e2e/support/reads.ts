import type { Page, Route } from 'playwright-core';

type Item = Record<string, unknown>;

/** Stands between the page's reads of like states and the server. */
export class Reads {
  /** Answers that the server gave and the page has not, or has, been given. */
  held = 0;
  delivered = 0;
  #edit: ((item: Item) => Item) | undefined;
  #release = Promise.resolve();

  /** To be given to a page. */
  readonly route = (page: Page): Promise<unknown> =>
    page.route('**/graphql', async (route) => {
      const isRead = route.request().postData()?.includes('query LikeStates');
      if (isRead && this.#edit) await this.#answer(route, this.#edit);
      else await route.fallback();
    });

  /** The server answers reads at once; the page gets what it said, edited, after the returned function was called. */
  hold(edit: (item: Item) => Item): () => void {
    let release = () => {};
    this.#edit = edit;
    this.#release = new Promise<void>((resolve) => {
      release = resolve;
    });
    return () => release();
  }

  async #answer(route: Route, edit: (item: Item) => Item): Promise<void> {
    const response = await route.fetch();
    const body = (await response.json()) as { data: { items: Item[] } };
    const items = body.data.items.map(edit);
    this.held += 1;
    await this.#release;
    await route.fulfill({ response, json: { ...body, data: { ...body.data, items } } });
    this.delivered += 1;
  }
}
