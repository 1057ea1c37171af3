// What the plot shows: the count of the last minute, push by push.

import { grouped } from '../feed/likeLine';

/** How far the plot looks back. */
export const WINDOW_MS = 60_000;
/** Twice as many pushes as the server sends in a window at its default interval of 200 ms; more push out the oldest. */
const MOST_SAMPLES = 600;

export interface Sample {
  /** `performance.now()` at its arrival. */
  readonly at: number;
  readonly count: number;
  /** False for the count that was known before the plot began. */
  readonly pushed: boolean;
}

/** The samples of the window that ends now, and the last one before it, where the line comes in from the left. */
export function withSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  const start = sample.at - WINDOW_MS;
  const inside = samples.findIndex(({ at }) => at >= start);
  const kept = inside < 0 ? samples.slice(-1) : samples.slice(Math.max(0, inside - 1));
  return [...kept, sample].slice(-MOST_SAMPLES);
}

/** The count as a line of steps up to now: seconds before now, and counts. */
export function countLine(samples: readonly Sample[], now: number): [number[], number[]] {
  const last = samples[samples.length - 1];
  if (!last) return [[], []];
  const points = [...samples, { ...last, at: now }];
  return [points.map(({ at }) => (at - now) / 1000), points.map(({ count }) => count)];
}

/** Pushes in each second of the window: seconds before now, and how many. The seconds do not move with the window. */
export function pushRate(samples: readonly Sample[], now: number): [number[], number[]] {
  const current = Math.floor(now / 1000);
  const seconds = Array.from({ length: WINDOW_MS / 1000 }, (_, n) => current - WINDOW_MS / 1000 + 1 + n);
  const rates = seconds.map(
    (second) => samples.filter(({ at, pushed }) => pushed && Math.floor(at / 1000) === second).length,
  );
  return [seconds.map((second) => second + 0.5 - now / 1000), rates];
}

/** The plot in words. */
export function inWords(samples: readonly Sample[], now: number): string {
  const first = samples[0];
  const last = samples[samples.length - 1];
  if (!first || !last) return 'Nothing is known yet.';
  const pushes = samples.filter(({ at, pushed }) => pushed && at >= now - WINDOW_MS).length;
  const [from, to] = [grouped(first.count), grouped(last.count)];
  const moved = first.count === last.count ? `stood at ${to}` : `went from ${from} to ${to}`;
  const most = Math.max(...pushRate(samples, now)[1]);
  return `In the last minute the count ${moved}. Pushes: ${pushes}, at most ${most} in a second.`;
}
