import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { test as base } from 'vitest';

import { startBrowser } from './browser';
import { Person } from './person';
import { type Backend, type Stand, startStand } from './stand';
import { Visit, type VisitOptions } from './visit';

interface PerFile {
  stand: Stand;
  browser: Browser;
}

export interface PerTest {
  /** Opens the demo page as somebody new. */
  open(options?: VisitOptions): Promise<Visit>;
  /** Somebody who uses the API of a node. */
  person(user: string, node?: number): Person;
}

/** Tests with servers and a browser of the file's own. */
export function testOn(backend: Backend) {
  return base.extend<PerFile & PerTest>({
    stand: [
      // biome-ignore lint/correctness/noEmptyPattern: Vitest reads from the pattern which others a fixture needs.
      async ({}, use) => {
        const stand = await startStand(backend);
        await use(stand);
        await stand.stop();
      },
      { scope: 'file' },
    ],
    browser: [
      // biome-ignore lint/correctness/noEmptyPattern: as above.
      async ({}, use) => {
        const browser = await startBrowser();
        await use(browser);
        await browser.close();
      },
      { scope: 'file' },
    ],
    open: async ({ stand, browser, task }, use) => {
      const visits: Visit[] = [];
      await use(async (options = {}) => {
        const visit = await Visit.start(browser, url(stand, options.node), options);
        visits.push(visit);
        return visit;
      });
      if (task.result?.state === 'fail') await keepPictures(visits, task.name);
      const faults = visits.flatMap((visit) => visit.faults);
      for (const visit of visits) await visit.end();
      if (faults.length > 0) throw new Error(`the page is at fault:\n${faults.join('\n')}`);
    },
    person: async ({ stand }, use) => {
      await use((user, node) => new Person(url(stand, node), user));
    },
  });
}

export const test = testOn('sqlite');

function url(stand: Stand, node = 0): string {
  const found = stand.nodes[node];
  if (!found) throw new Error(`the stand has no node ${node}`);
  return found.url;
}

async function keepPictures(visits: readonly Visit[], test: string): Promise<void> {
  const folder = join(import.meta.dirname, '../failures');
  await mkdir(folder, { recursive: true });
  for (const [index, visit] of visits.entries()) {
    await visit.page.screenshot({ path: join(folder, `${test.replaceAll(/\W+/g, '-')}-${index}.png`) });
  }
}
