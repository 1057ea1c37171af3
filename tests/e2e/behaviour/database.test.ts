import { expect } from 'vitest';

import { within } from '../support/deadlines';
import { testOn } from '../support/fixtures';

const test = testOn('postgres');

test('while the database is away counts stay and may lag, and a tap then arrives once', { timeout: 180_000 }, async ({
  open,
  person,
  stand,
}) => {
  const before = await person('ana').unlike('post:1');
  const visit = await open({ path: '/#/ana' });
  visit.expectConsole(/Failed to load resource/);
  const item = visit.pane().item('post:1');
  await expect.poll(() => item.shown(), within('push')).toEqual({ liked: false, count: before.count });
  const mayLag = item.root.getByText('may lag');
  expect(await mayLag.count()).toBe(0);

  await stand.database('stop');
  await mayLag.waitFor(within('stale'));
  expect(await item.shown()).toEqual({ liked: false, count: before.count });
  // The page still has its socket: what lags is not the connection.
  expect(await visit.pane().connection()).toBe('live');
  await item.tap();
  expect(await item.shown()).toEqual({ liked: true, count: before.count + 1 });

  await stand.database('start');
  await expect.poll(() => item.heart.getAttribute('data-phase'), within('givingUp')).toBe('settled');
  expect(await item.shown()).toEqual({ liked: true, count: before.count + 1 });
  await mayLag.waitFor({ state: 'hidden', ...within('stale') });
  expect(await person('ana').item('post:1')).toEqual({
    liked: true,
    count: before.count + 1,
    version: before.version + 1,
  });
});

test('a heart that nobody can read takes no tap, and is right once it can be read', { timeout: 180_000 }, async ({
  open,
  person,
  stand,
}) => {
  const { count } = await person('ben').like('post:2');
  await stand.database('stop');
  const visit = await open({ path: '/#/ben' });
  visit.expectConsole(/Failed to load resource/);
  const item = visit.pane().item('post:2');
  try {
    await item.root.getByText('may lag').waitFor(within('stale'));
    expect(await item.shown()).toEqual({ liked: false, count });
    expect(await item.heart.getAttribute('aria-disabled')).toBe('true');
    await item.heart.click({ force: true });
    expect(await item.shown()).toEqual({ liked: false, count });
  } finally {
    await stand.database('start');
  }
  await expect.poll(() => item.shown(), within('stale')).toEqual({ liked: true, count });
  await item.tap();
  expect(await item.shown()).toEqual({ liked: false, count: count - 1 });
  await expect.poll(() => person('ben').item('post:2'), within('push')).toMatchObject({ liked: false });
});
