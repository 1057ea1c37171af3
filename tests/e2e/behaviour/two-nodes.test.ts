import { expect } from 'vitest';

import { within } from '../support/deadlines';
import { testOn } from '../support/fixtures';
import { changes, drawn, recording, watchFrames } from '../support/frames';
import { freeze } from '../support/freeze';
import { hide, show } from '../support/visibility';

const test = testOn('postgres');

test('likes cross from one node to the other, and back', async ({ open, person }) => {
  await person('ana').unlike('post:1');
  const { count } = await person('ben', 1).unlike('post:1');
  const hers = (await open({ node: 0, path: '/#/ana' })).pane().item('post:1');
  const his = (await open({ node: 1, path: '/#/ben' })).pane().item('post:1');
  await expect.poll(() => hers.shown(), within('push')).toEqual({ liked: false, count });
  await expect.poll(() => his.shown(), within('push')).toEqual({ liked: false, count });
  await watchFrames(hers);
  await watchFrames(his);

  await hers.tap();
  await expect.poll(() => his.shown(), within('push')).toEqual({ liked: false, count: count + 1 });
  await expect.poll(() => his.line.textContent(), within('push')).toMatch(/\bAna\b/);
  const origin = (item: typeof hers) => item.root.evaluate(() => performance.timeOrigin);
  const tapped = ((await recording(hers)).taps[0] ?? Number.NaN) + (await origin(hers));
  const moved = (await recording(his)).frames.find((frame) => frame.count === count + 1);
  const late = (moved?.at ?? Number.NaN) + (await origin(his)) - tapped;
  console.log(`measured: a tap at one node was shown at the other ${late.toFixed(0)} ms later`);

  await his.tap();
  await expect.poll(() => hers.shown(), within('push')).toEqual({ liked: true, count: count + 2 });
  await expect.poll(() => hers.line.textContent(), within('push')).toMatch(/\byou\b.*\bBen\b/i);
  await drawn(hers);
  expect(await changes(hers)).toEqual([`♡${count}`, `♥${count + 1}`, `♥${count + 2}`]);
  expect(await changes(his)).toEqual([`♡${count}`, `♡${count + 1}`, `♥${count + 2}`]);
});

test('a refresh keeps the heart, also on the other node and at once', async ({ open, person }) => {
  const before = await person('cleo').unlike('post:2');
  const first = await open({ node: 0, path: '/#/cleo' });
  await first.pane().item('post:2').settled();
  await first.pane().item('post:2').tap();
  await expect.poll(() => person('cleo', 1).item('post:2'), within('push')).toMatchObject({ liked: true });
  const elsewhere = await open({ node: 1, path: '/#/cleo' });
  expect(await elsewhere.pane().item('post:2').settled()).toEqual({ liked: true, count: before.count + 1 });
  await first.page.reload();
  expect(await first.pane().item('post:2').settled()).toEqual({ liked: true, count: before.count + 1 });
});

test('the heart follows on the viewer’s other device', async ({ open, person }) => {
  const before = await person('dan').unlike('post:3');
  const phone = (await open({ node: 0, path: '/#/dan' })).pane().item('post:3');
  const desk = (await open({ node: 1, path: '/#/dan' })).pane().item('post:3');
  await phone.settled();
  await desk.settled();
  await phone.tap();
  await expect.poll(() => desk.shown(), within('push')).toEqual({ liked: true, count: before.count + 1 });
  await desk.tap();
  await expect.poll(() => phone.shown(), within('push')).toEqual({ liked: false, count: before.count });
});

test('a node that stops answering is noticed, and what it missed is right when it goes on', async ({
  open,
  person,
  stand,
}) => {
  const before = await person('eva', 1).unlike('post:4');
  const visit = await open({ node: 1, path: '/#/eva' });
  visit.expectConsole(/WebSocket connection|Failed to load resource/);
  const item = visit.pane().item('post:4');
  await item.settled();
  await expect.poll(() => visit.pane().connection(), within('push')).toBe('live');
  const pid = stand.nodes[1]?.pid;
  if (!pid) throw new Error('there is no second node');
  await freeze(pid);
  try {
    // Coming back to the tab makes the page ask whether its socket lives.
    await hide(visit.page);
    await show(visit.page);
    await expect.poll(() => visit.pane().connection(), within('shown')).toBe('reconnecting');
    await person('dora', 0).like('post:4');
    await item.tap();
    expect(await item.shown()).toEqual({ liked: true, count: before.count + 1 });
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await expect.poll(() => visit.pane().connection(), within('shown')).toBe('live');
  await expect.poll(() => item.shown(), within('shown')).toEqual({ liked: true, count: before.count + 2 });
  // What is shown has the wish in it already, sent or not.
  await expect
    .poll(() => person('eva', 0).item('post:4'), within('push'))
    .toMatchObject({ liked: true, version: before.version + 1 });
});

test('an acknowledged like outlives its node', async ({ open, person, stand }) => {
  const before = await person('ana').unlike('post:5');
  const visit = await open({ node: 0, path: '/#/ana' });
  visit.expectConsole(/WebSocket connection|Failed to load resource/);
  const hers = visit.pane().item('post:5');
  const his = (await open({ node: 1, path: '/#/ben' })).pane().item('post:5');
  await hers.settled();
  const { count } = await his.settled();
  expect(count).toBe(before.count);
  await hers.tap();
  await expect.poll(() => person('ana', 0).item('post:5'), within('push')).toMatchObject({ liked: true });
  process.kill(stand.nodes[0]?.pid ?? Number.NaN, 'SIGKILL');
  await expect.poll(() => his.shown(), within('push')).toMatchObject({ count: count + 1 });
  await expect.poll(() => visit.pane().connection(), within('push')).toBe('reconnecting');
  await hers.root.getByText('may lag').waitFor();
  expect(await hers.shown()).toEqual({ liked: true, count: before.count + 1 });
});
