import { describe, expect } from 'vitest';

import { Answers, holdAnswers } from '../support/answers';
import { within } from '../support/deadlines';
import { test } from '../support/fixtures';
import { changes, drawn, recording, watchFrames } from '../support/frames';

describe('a tap', () => {
  test('fills the heart and moves the number by one before the server has answered', async ({ open, person }) => {
    const ana = person('ana');
    const before = await ana.unlike('post:1');
    const answers = new Answers();
    const { hold, release } = holdAnswers();
    answers.let(hold);
    const visit = await open({ before: answers.route });
    const item = visit.pane().item('post:1');
    expect(await item.settled()).toEqual({ liked: false, count: before.count });
    await watchFrames(item);
    await item.tap();
    await expect.poll(() => item.shown(), within('tap')).toEqual({ liked: true, count: before.count + 1 });
    await expect.poll(() => answers.operations, within('push')).toEqual(['Like']);

    release();
    await answers.quiet();
    await drawn(item);
    expect(await changes(item)).toEqual([`♡${before.count}`, `♥${before.count + 1}`]);
    expect(await ana.item('post:1')).toEqual({ liked: true, count: before.count + 1, version: before.version + 1 });
    const { frames, taps } = await recording(item);
    const filled = frames.find((frame) => frame.liked)?.at ?? Number.POSITIVE_INFINITY;
    console.log(`measured: the heart was filled ${(filled - (taps[0] ?? 0)).toFixed(1)} ms after the tap`);
  });

  test('on a filled heart takes the like back', async ({ open, person }) => {
    const ana = person('ana');
    const before = await ana.like('post:2');
    const answers = new Answers();
    const visit = await open({ before: answers.route });
    const item = visit.pane().item('post:2');
    expect(await item.settled()).toEqual({ liked: true, count: before.count });
    await watchFrames(item);
    await item.tap();
    await expect.poll(() => item.shown(), within('tap')).toEqual({ liked: false, count: before.count - 1 });
    await answers.quiet();
    await drawn(item);
    expect(await changes(item)).toEqual([`♥${before.count}`, `♡${before.count - 1}`]);
    expect(await ana.item('post:2')).toEqual({ liked: false, count: before.count - 1, version: before.version + 1 });
  });
});

describe('quick taps', () => {
  test('like and unlike are sent one after the other, and end where the last tap left the heart', async ({
    open,
    person,
  }) => {
    const ana = person('ana');
    const before = await ana.unlike('post:3');
    const answers = new Answers();
    const { hold, release } = holdAnswers();
    answers.let(hold);
    const visit = await open({ before: answers.route });
    const item = visit.pane().item('post:3');
    await item.settled();
    await watchFrames(item);
    await item.tap();
    await expect.poll(() => item.shown(), within('tap')).toEqual({ liked: true, count: before.count + 1 });
    await drawn(item, 1);
    await item.tap();
    await expect.poll(() => item.shown(), within('tap')).toEqual({ liked: false, count: before.count });
    await expect.poll(() => answers.operations, within('push')).toEqual(['Like']);

    release();
    await answers.quiet();
    await drawn(item);
    expect(answers.operations).toEqual(['Like', 'Unlike']);
    expect(new Set(answers.keys).size).toBe(2);
    expect(answers.mostAtOnce).toBe(1);
    expect(await changes(item)).toEqual([`♡${before.count}`, `♥${before.count + 1}`, `♡${before.count}`]);
    expect(await ana.item('post:3')).toEqual({ liked: false, count: before.count, version: before.version + 2 });
  });

  test('of a double click end where they began', async ({ open, person }) => {
    const ana = person('ana');
    const before = await ana.unlike('game:chess');
    const answers = new Answers();
    const visit = await open({ before: answers.route });
    const item = visit.pane().item('game:chess');
    await item.settled();
    await watchFrames(item);
    await item.heart.dblclick();
    await answers.quiet();
    await drawn(item);
    // Both clicks may fall into one frame.
    expect([`♡${before.count}`, `♡${before.count} ♥${before.count + 1} ♡${before.count}`]).toContain(
      (await changes(item)).join(' '),
    );
    expect(answers.operations).toEqual(['Like', 'Unlike']);
    expect(answers.mostAtOnce).toBe(1);
    expect(await ana.item('game:chess')).toEqual({ liked: false, count: before.count, version: before.version + 2 });
  });

  test('that lead back to where they began cost the server one call', async ({ open, person }) => {
    const ana = person('ana');
    const before = await ana.unlike('post:4');
    const answers = new Answers();
    const { hold, release } = holdAnswers();
    answers.let(hold);
    const visit = await open({ before: answers.route });
    const item = visit.pane().item('post:4');
    await item.settled();
    for (let tap = 1; tap <= 5; tap++) await item.tap();
    await expect.poll(() => item.shown(), within('tap')).toEqual({ liked: true, count: before.count + 1 });

    release();
    await answers.quiet();
    await drawn(item);
    expect(answers.operations).toEqual(['Like']);
    expect(await item.shown()).toEqual({ liked: true, count: before.count + 1 });
    expect(await ana.item('post:4')).toEqual({ liked: true, count: before.count + 1, version: before.version + 1 });
  });
});

test('a refresh keeps the heart', async ({ open, person }) => {
  const ana = person('ana');
  const before = await ana.unlike('game:go');
  const visit = await open();
  const item = visit.pane().item('game:go');
  await item.settled();
  await item.tap();
  // At once, while the answer is still on its way.
  await visit.page.reload();
  const again = visit.pane().item('game:go');
  await expect.poll(() => again.shown(), within('push')).toEqual({ liked: true, count: before.count + 1 });
});
