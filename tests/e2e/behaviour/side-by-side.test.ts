import { expect } from 'vitest';

import { within } from '../support/deadlines';
import { test } from '../support/fixtures';
import { changes, drawn, watchFrames } from '../support/frames';

test('two people side by side see each other’s likes, each with their own line', async ({ open, person }) => {
  await person('ana').unlike('post:1');
  const { count } = await person('ben').unlike('post:1');
  const visit = await open();
  await visit.page.getByRole('button', { name: 'Open a second pane' }).click();
  const [ana, ben] = [visit.pane('Ana'), visit.pane('Ben')];
  const [hers, his] = [ana.item('post:1'), ben.item('post:1')];
  await expect.poll(() => hers.shown(), within('push')).toEqual({ liked: false, count });
  await expect.poll(() => his.shown(), within('push')).toEqual({ liked: false, count });
  await watchFrames(his);

  await hers.tap();
  await expect.poll(() => his.shown(), within('push')).toEqual({ liked: false, count: count + 1 });
  await expect.poll(() => his.line.textContent(), within('push')).toMatch(/\bAna\b/);
  expect(await hers.line.textContent()).toMatch(/\byou\b/i);
  expect(await hers.line.textContent()).not.toMatch(/\bAna\b/);

  await his.tap();
  await expect.poll(() => hers.shown(), within('push')).toEqual({ liked: true, count: count + 2 });
  await expect.poll(() => hers.line.textContent(), within('push')).toMatch(/\byou\b.*\bBen\b/i);
  await expect.poll(() => his.line.textContent(), within('push')).toMatch(/\byou\b.*\bAna\b/i);

  await hers.tap();
  await expect.poll(() => his.shown(), within('push')).toEqual({ liked: true, count: count + 1 });
  await expect.poll(() => his.line.textContent(), within('push')).not.toMatch(/\bAna\b/);
  await drawn(his);
  expect(await changes(his)).toEqual([`♡${count}`, `♡${count + 1}`, `♥${count + 2}`, `♥${count + 1}`]);
});
