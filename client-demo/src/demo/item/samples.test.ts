// @vitest-environment node
import { expect, it } from 'vitest';

import { countLine, inWords, pushRate, type Sample, withSample } from './samples';

function added(...samples: readonly [number, number][]): readonly Sample[] {
  return samples.reduce<readonly Sample[]>((all, [at, count]) => withSample(all, { at, count, pushed: true }), []);
}

it('keeps a minute, and the sample where the line comes in', () => {
  const samples = added([0, 1], [1000, 2], [30_000, 3], [61_500, 4]);
  expect(samples.map(({ count }) => count)).toEqual([2, 3, 4]);
  expect(added([0, 1], [1000, 2], [200_000, 3]).map(({ count }) => count)).toEqual([2, 3]);
});

it('keeps no more than it can draw', () => {
  const samples = added(...Array.from({ length: 2000 }, (_, n): [number, number] => [n, n]));
  expect(samples.length).toBe(600);
  expect(samples[599]?.count).toBe(1999);
});

it('draws the count up to now', () => {
  expect(countLine(added([1000, 5], [3000, 8]), 4000)).toEqual([
    [-3, -1, 0],
    [5, 8, 8],
  ]);
  expect(countLine([], 4000)).toEqual([[], []]);
});

it('counts the pushes of each second', () => {
  const [seconds, rates] = pushRate(added([70_100, 1], [70_900, 2], [71_000, 3]), 71_500);
  expect(rates.length).toBe(60);
  expect(rates.slice(-3)).toEqual([0, 2, 1]);
  expect(seconds.slice(-2)).toEqual([-1, 0]);
});

it('takes what was known before for no push', () => {
  const known = withSample([], { at: 70_000, count: 5, pushed: false });
  expect(pushRate(known, 70_500)[1].at(-1)).toBe(0);
  expect(countLine(known, 70_500)).toEqual([
    [-0.5, 0],
    [5, 5],
  ]);
});

it('says the same in words', () => {
  expect(inWords([], 0)).toBe('Nothing is known yet.');
  expect(inWords(added([1000, 1205]), 2000)).toBe(
    'In the last minute the count stood at 1,205. Pushes: 1, at most 1 in a second.',
  );
  expect(inWords(added([1000, 5], [1100, 7], [2500, 9]), 3000)).toBe(
    'In the last minute the count went from 5 to 9. Pushes: 3, at most 2 in a second.',
  );
});
