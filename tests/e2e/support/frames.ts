import type { ItemView } from './demo';
import type { Frame, Recording } from './recorder';

/** From now on the page writes down what it shows of the item in each frame, and each tap on its heart. Ends with the first. */
export async function watchFrames(item: ItemView): Promise<void> {
  await item.root.evaluate((article) => {
    const { recording } = window;
    recording.frames = [];
    recording.taps = [];
    article.addEventListener(
      'click',
      (event) => {
        const onHeart = (event.target as Element).closest('button[aria-pressed]') !== null;
        if (onHeart) recording.taps.push(performance.now());
      },
      { capture: true },
    );
    const sample = (): void => {
      const digits = article.querySelector('[data-count]')?.textContent?.replaceAll(/\D/g, '') ?? '';
      recording.frames.push({
        at: performance.now(),
        liked: article.querySelector('button[aria-pressed]')?.getAttribute('aria-pressed') === 'true',
        count: digits === '' ? null : Number(digits),
      });
      requestAnimationFrame(sample);
    };
    requestAnimationFrame(sample);
  });
  await drawn(item, 1);
}

export function recording(item: ItemView): Promise<Recording> {
  return item.root.evaluate(() => window.recording);
}

/** What was shown, one entry for each change: `['♡41', '♥42']`. */
export async function changes(item: ItemView): Promise<string[]> {
  const { frames } = await recording(item);
  return steps(frames).map(({ liked, count }) => `${liked ? '♥' : '♡'}${count}`);
}

/** The first frame, and each that differs from the one before. */
export function steps(frames: readonly Frame[]): Frame[] {
  return frames.filter((frame, index) => {
    const before = frames[index - 1];
    return before === undefined || before.liked !== frame.liked || before.count !== frame.count;
  });
}

/** Ends once the page has drawn `count` more frames: what it was to show, it has shown by then. */
export async function drawn(item: ItemView, count = 3): Promise<void> {
  await item.root.evaluate(
    (_, left) =>
      new Promise<void>((resolve) => {
        const frame = (remaining: number): void => {
          if (remaining === 0) resolve();
          else requestAnimationFrame(() => frame(remaining - 1));
        };
        frame(left);
      }),
    count,
  );
}
