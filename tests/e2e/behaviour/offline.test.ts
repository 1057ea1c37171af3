import { expect } from 'vitest';

import { Answers, loseAnswer, pass } from '../support/answers';
import { within } from '../support/deadlines';
import { test } from '../support/fixtures';
import { changes, drawn, watchFrames } from '../support/frames';
import { Sockets } from '../support/sockets';

const failedRequest = /Failed to load resource|WebSocket connection|ERR_INTERNET_DISCONNECTED/;

test('taps made offline wait, and only the last wish is sent', async ({ open, person }) => {
  const ana = person('ana');
  const before = await ana.unlike('post:1');
  const answers = new Answers();
  const visit = await open({ before: answers.route });
  visit.expectConsole(failedRequest);
  const item = visit.pane().item('post:1');
  await item.settled();
  await watchFrames(item);
  await visit.context.setOffline(true);
  await expect.poll(() => visit.pane().connection(), within('push')).toBe('offline');
  for (const liked of [true, false, true]) {
    await item.tap();
    const count = before.count + Number(liked);
    await expect.poll(() => item.shown(), within('tap')).toEqual({ liked, count });
    await drawn(item, 1);
  }
  expect(answers.calls).toEqual([]);

  await visit.context.setOffline(false);
  await expect
    .poll(() => ana.item('post:1'), within('push'))
    .toEqual({
      liked: true,
      count: before.count + 1,
      version: before.version + 1,
    });
  await answers.quiet();
  await drawn(item);
  expect(answers.operations).toEqual(['Like']);
  const [empty, full] = [`♡${before.count}`, `♥${before.count + 1}`];
  expect(await changes(item)).toEqual([empty, full, empty, full]);
  await expect.poll(() => visit.pane().connection(), within('push')).toBe('live');
});

test('a like and its taking back, both offline, cost the server nothing', async ({ open, person }) => {
  const ana = person('ana');
  const before = await ana.unlike('post:2');
  const answers = new Answers();
  const visit = await open({ before: answers.route });
  visit.expectConsole(failedRequest);
  const item = visit.pane().item('post:2');
  await item.settled();
  await visit.context.setOffline(true);
  await item.tap();
  await item.tap();
  await visit.context.setOffline(false);
  await expect.poll(() => visit.pane().connection(), within('push')).toBe('live');
  await answers.quiet();
  expect(answers.calls).toEqual([]);
  expect(await item.shown()).toEqual({ liked: false, count: before.count });
  expect(await ana.item('post:2')).toEqual(before);
});

test('a like whose answer was lost with the network is retried before the next wish is sent', async ({
  open,
  person,
}) => {
  const ana = person('ana');
  const before = await ana.unlike('post:3');
  const answers = new Answers();
  const visit = await open({ before: answers.route });
  visit.expectConsole(failedRequest);
  const item = visit.pane().item('post:3');
  await item.settled();
  answers.let(async (call) => {
    await visit.context.setOffline(true);
    await loseAnswer(call);
  });
  await item.tap();
  await answers.quiet();
  await item.tap();
  expect(await item.shown()).toEqual({ liked: false, count: before.count });
  answers.let(pass);
  await visit.context.setOffline(false);
  await expect
    .poll(() => ana.item('post:3'), within('push'))
    .toEqual({
      liked: false,
      count: before.count,
      version: before.version + 2,
    });
  await answers.quiet();
  expect(answers.operations).toEqual(['Like', 'Like', 'Unlike']);
  const [first, retry, last] = answers.keys;
  expect(retry).toBe(first);
  expect(last).not.toBe(first);
  expect(answers.mostAtOnce).toBe(1);
  expect(await item.shown()).toEqual({ liked: false, count: before.count });
});

test('counts that moved meanwhile are right when the network is back', async ({ open, person }) => {
  const before = await person('ana').unlike('post:4');
  const sockets = new Sockets();
  const visit = await open({ before: sockets.route });
  visit.expectConsole(failedRequest);
  const item = visit.pane().item('post:4');
  await item.settled();
  await visit.context.setOffline(true);
  sockets.deaf = true;
  await expect.poll(() => visit.pane().connection(), within('push')).toBe('offline');
  await person('dora').like('post:4');
  await person('emil').like('post:4');
  await drawn(item, 10);
  expect(await item.shown()).toEqual({ liked: false, count: before.count });

  // The socket is as dead as after a change of networks: the counts have to be read.
  await visit.context.setOffline(false);
  await expect.poll(() => item.shown(), within('push')).toEqual({ liked: false, count: before.count + 2 });
});

test('an item that is opened offline lacks its plot and likers, which come by themselves when the network is back', async ({
  open,
  person,
}) => {
  const ana = person('ana');
  const before = await ana.unlike('photo:heron');
  const visit = await open();
  visit.expectConsole(failedRequest);
  await visit.pane().item('photo:heron').settled();
  await visit.context.setOffline(true);
  await visit.pane().root.getByRole('link', { name: 'Heron, unimpressed' }).click();
  const { root } = visit.pane();
  await root.getByText('The plot could not be loaded').waitFor();
  await root.getByText('This could not be loaded: The server cannot be reached.').waitFor();
  const item = visit.pane().item('photo:heron');
  await item.tap();
  await expect.poll(() => item.shown(), within('tap')).toEqual({ liked: true, count: before.count + 1 });
  await visit.context.setOffline(false);
  await expect.poll(() => ana.item('photo:heron'), within('push')).toMatchObject({ liked: true });
  await root.locator('.plot-count canvas').waitFor();
  await root.getByRole('listitem').first().waitFor();
});

test('a burst ends where the server cannot be reached, and says so', async ({ open, person }) => {
  await person('ana').unlike('photo:heron');
  const visit = await open({ path: '/#/ana/item/photo:heron' });
  visit.expectConsole(failedRequest);
  await visit.pane().item('photo:heron').settled();
  await visit.context.setOffline(true);
  await visit.pane().root.getByRole('button', { name: 'Send a burst' }).click();
  await visit
    .pane()
    .root.getByText(/^0 likes in [\d.]+ s, then the server could not be reached$/)
    .waitFor();
});
