import type { Page } from 'playwright-core';
import { expect } from 'vitest';

import { crowdLikes } from '../support/crowd';
import { within } from '../support/deadlines';
import type { ItemView } from '../support/demo';
import { test } from '../support/fixtures';
import { drawn, recording, steps, watchFrames } from '../support/frames';
import type { Frame, Recording, Told } from '../support/recorder';

const itemId = 'photo:dunes';
/** So many like it from elsewhere, besides the page's own burst. */
const crowdSize = 300;
const MOST_TAPS = 500;

test('through a burst of likes the number never falls, and own taps move it by one each', async ({
  open,
  person,
  stand,
}) => {
  const ana = person('ana');
  const before = await ana.unlike(itemId);
  const visit = await open({ path: `/#/ana/item/${itemId}` });
  const pane = visit.pane();
  const item = pane.item(itemId);
  await item.settled();
  await watchFrames(item);
  await pane.root.getByRole('button', { name: 'Send a burst' }).click();
  const crowd = crowdLikes(stand.nodes[0]?.url ?? '', itemId, crowdSize);
  const bar = pane.root.getByRole('progressbar');
  await bar.waitFor();
  const heart = await middle(item);
  let taps = 0;
  while (taps < MOST_TAPS && (await bar.isVisible())) {
    await tapOnce(visit.page, item, heart);
    taps += 1;
  }
  expect(taps).toBeGreaterThan(3);
  await crowd;
  await pane.root
    .getByText(/^300 likes in [\d.]+ s$/)
    .first()
    .waitFor();

  const after = await ana.item(itemId);
  expect(after.count).toBe(before.count + 300 + crowdSize + Number(after.liked));
  await expect.poll(() => item.shown(), within('push')).toEqual({ liked: after.liked, count: after.count });
  const recorded = await recording(item);
  report(recorded);
  const told = recorded.told.filter(({ id }) => id === itemId);
  expect(neverFallsByItself(recorded.frames)).toEqual([]);
  expect(notTold(recorded.frames, told)).toEqual([]);
  expect(flips(recorded.frames)).toBe(taps);
  expect(recorded.taps.length).toBe(taps);
});

/** Taps, and waits for the heart to follow and to be drawn, so that each flip falls into a frame of its own. */
async function tapOnce(page: Page, item: ItemView, heart: { x: number; y: number }): Promise<void> {
  const { liked } = await item.shown();
  await page.mouse.click(heart.x, heart.y);
  await expect.poll(async () => (await item.shown()).liked, within('tap')).toBe(!liked);
  await drawn(item, 1);
}

async function middle(item: ItemView): Promise<{ x: number; y: number }> {
  const box = await item.heart.boundingBox();
  if (!box) throw new Error('the heart is not to be seen');
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** What others like, by what is shown: the number without the viewer's own heart. */
function others({ liked, count }: { liked: boolean; count: number | null }): number {
  return (count ?? Number.NaN) - Number(liked);
}

/** Steps at which the number of the others fell, though nobody else took a like back. */
function neverFallsByItself(frames: readonly Frame[]): string[] {
  return pairs(steps(frames))
    .filter(([earlier, later]) => !(others(later) >= others(earlier)))
    .map(([earlier, later]) => `${earlier.count} became ${later.count} at ${later.at}`);
}

/**
 * Steps to a number that the server had not said by then. What it says has the viewer's tap in it as well, so each own tap
 * has moved the number by one and nothing else has: a tap counted twice shows a number of others that nobody was told.
 */
function notTold(frames: readonly Frame[], told: readonly Told[]): string[] {
  return steps(frames)
    .filter((frame) => !told.some((state) => state.at <= frame.at && others(state) === others(frame)))
    .map((frame) => `${frame.liked ? '♥' : '♡'}${frame.count} at ${frame.at}`);
}

function flips(frames: readonly Frame[]): number {
  return pairs(frames).filter(([earlier, later]) => earlier.liked !== later.liked).length;
}

function pairs<T>(list: readonly T[]): [T, T][] {
  return list.slice(1).map((later, index) => [list[index] as T, later]);
}

function report({ frames, told, longTasks, taps }: Recording): void {
  const [first, last] = [frames[0]?.at ?? 0, frames.at(-1)?.at ?? 0];
  const during = longTasks.filter(({ at }) => at >= first && at <= last).map(({ duration }) => duration);
  const pushes = told.filter(({ at, by, id }) => by === 'push' && at >= first && id === itemId).length;
  const gaps = pairs(frames).map(([earlier, later]) => later.at - earlier.at);
  const total = during.reduce((sum, duration) => sum + duration, 0);
  console.log(
    [
      `measured: burst: ${frames.length} frames in ${((last - first) / 1000).toFixed(1)} s, ${pushes} pushes, ${taps.length} own taps`,
      `measured: burst: ${during.length} long tasks, longest ${Math.max(0, ...during).toFixed(0)} ms, ${total.toFixed(0)} ms in all`,
      `measured: burst: longest time between two frames ${Math.max(0, ...gaps).toFixed(0)} ms`,
    ].join('\n'),
  );
}
