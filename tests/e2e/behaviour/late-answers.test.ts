import { expect } from 'vitest';

import { Answers } from '../support/answers';
import { within } from '../support/deadlines';
import { test } from '../support/fixtures';
import { changes, drawn, watchFrames } from '../support/frames';
import { Reads } from '../support/reads';
import { Sockets } from '../support/sockets';
import { hide, show } from '../support/visibility';
import type { Visit } from '../support/visit';

/** A number that the server would never say, so that it is known when shown. */
const tempting = { likeCount: 77_777 };

/** Ends when the page has shown what was pushed so far: pushes come in order, and here is one more, of another item. */
async function delivered(visit: Visit, sockets: Sockets): Promise<void> {
  const item = visit.pane().item('post:9');
  const likeCount = (await item.settled()).count + 1;
  sockets.push('post:9', { likeCount, countVersion: Number(sockets.last('post:9')?.['countVersion']) + likeCount });
  await expect.poll(async () => (await item.shown()).count, within('push')).toBe(likeCount);
}

test('an answer that lacks the tap is dropped whole, also where its number is newer', async ({ open, person }) => {
  const before = await person('ana').unlike('post:1');
  const answers = new Answers();
  const reads = new Reads();
  const visit = await open({
    before: async (page) => {
      await answers.route(page);
      await reads.route(page);
    },
  });
  const item = visit.pane().item('post:1');
  await item.settled();
  await watchFrames(item);
  const readAgain = async () => {
    await hide(visit.page);
    await show(visit.page);
  };

  // The server answers before the tap, and its answer comes after it.
  const release = reads.hold((state) => ({ ...state, ...tempting, countVersion: Number(state['countVersion']) + 100 }));
  await readAgain();
  await expect.poll(() => reads.held, within('push')).toBe(1);
  await item.tap();
  await answers.quiet();
  release();
  await expect.poll(() => reads.delivered, within('push')).toBe(1);
  await drawn(item, 10);
  expect(await changes(item)).toEqual([`♡${before.count}`, `♥${before.count + 1}`]);

  // An answer that has the tap, with the same number, is taken: so the one above would have been seen.
  reads.hold((state) => ({ ...state, ...tempting, countVersion: Number(state['countVersion']) + 100 }))();
  await readAgain();
  await expect.poll(() => item.shown(), within('push')).toEqual({ liked: true, count: tempting.likeCount });
});

test('a push of an older count is dropped, and at a tie what is shown stays', async ({ open, person }) => {
  await person('ana').like('post:2');
  const sockets = new Sockets();
  const visit = await open({ before: sockets.route });
  const item = visit.pane().item('post:2');
  await item.settled();
  const { count } = await person('dora').like('post:2');
  await expect.poll(() => item.shown(), within('push')).toEqual({ liked: true, count });
  await expect.poll(() => sockets.last('post:2')?.['likeCount'], within('push')).toBe(count);
  const countVersion = Number(sockets.last('post:2')?.['countVersion']);
  await watchFrames(item);

  sockets.push('post:2', { ...tempting, countVersion: countVersion - 1 });
  await delivered(visit, sockets);
  sockets.push('post:2', { ...tempting, countVersion });
  await delivered(visit, sockets);
  sockets.push('post:2', { likeCount: count + 5, countVersion: countVersion + 1 });
  await expect.poll(() => item.shown(), within('push')).toEqual({ liked: true, count: count + 5 });
  await drawn(item);
  expect(await changes(item)).toEqual([`♥${count}`, `♥${count + 5}`]);
});

test('a push that lacks the tap is dropped, also where its number is newer', async ({ open, person }) => {
  const before = await person('ana').unlike('post:3');
  const answers = new Answers();
  const sockets = new Sockets();
  const visit = await open({
    before: async (page) => {
      await answers.route(page);
      await sockets.route(page);
    },
  });
  const item = visit.pane().item('post:3');
  await item.settled();
  await expect.poll(() => sockets.last('post:3')?.['likeCount'], within('push')).toBe(before.count);
  const old = sockets.last('post:3');
  await watchFrames(item);
  await item.tap();
  await answers.quiet();
  sockets.push('post:3', { ...old, ...tempting, countVersion: Number(old?.['countVersion']) + 100 });
  await delivered(visit, sockets);
  await drawn(item);
  expect(await changes(item)).toEqual([`♡${before.count}`, `♥${before.count + 1}`]);
});
