import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';

import { Pane } from './demo';
import { recordPage } from './recorder';

export interface VisitOptions extends BrowserContextOptions {
  readonly path?: string;
  /** Which of the stand's nodes. */
  readonly node?: number;
  /** Runs before the page is asked for: to route its requests, say. */
  readonly before?: (page: Page) => Promise<unknown>;
}

/**
 * Somebody at the page, in a browser profile of their own. A request to another origin, an error in the console, an
 * exception and a breach of the content security policy are faults, which fail the test that they happen in.
 */
export class Visit {
  readonly #faults: string[] = [];
  readonly #expected: RegExp[] = [];

  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
    readonly origin: string,
  ) {
    context.on('request', (request) => this.#checkOrigin(request.url()));
    context.on('weberror', (error) => this.#fault(`exception: ${error.error().stack ?? error.error().message}`));
    page.on('websocket', (socket) => this.#checkOrigin(socket.url()));
    page.on('console', (message) => {
      if (message.type() === 'error') this.#fault(`console: ${message.text()} (${message.location().url})`);
    });
  }

  static async start(browser: Browser, origin: string, options: VisitOptions): Promise<Visit> {
    const { path = '/', before, node: _, ...contextOptions } = options;
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...contextOptions });
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    const visit = new Visit(context, page, origin);
    await page.addInitScript(recordPage);
    await before?.(page);
    await page.goto(origin + path);
    return visit;
  }

  /** The pane of the one viewer, or of the one that is named. */
  pane(viewer?: string): Pane {
    const sections = this.page.locator('section[aria-label^="Viewing"]');
    return new Pane(viewer ? this.page.getByRole('region', { name: `Viewing as ${viewer}`, exact: true }) : sections);
  }

  /** The browser itself reports requests that fail: where a test makes them fail, that is no fault of the page. */
  expectConsole(pattern: RegExp): void {
    this.#expected.push(pattern);
  }

  get faults(): readonly string[] {
    return this.#faults.filter((fault) => !this.#expected.some((pattern) => pattern.test(fault)));
  }

  async end(): Promise<void> {
    // Requests that a test never answers end with the page.
    await this.page.unrouteAll({ behavior: 'ignoreErrors' });
    await this.context.close();
  }

  #checkOrigin(address: string): void {
    const url = new URL(address);
    if (['data:', 'blob:'].includes(url.protocol)) return;
    if (url.host !== new URL(this.origin).host) this.#fault(`another host was asked for: ${address}`);
  }

  #fault(what: string): void {
    this.#faults.push(what);
  }
}
