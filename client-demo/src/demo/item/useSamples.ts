import { useEffect, useState } from 'react';

import { useLikes } from '../../like/LikesContext';
import { type Sample, withSample } from './samples';

/** Collects an item's pushes without rendering: whoever draws reads `current` at its own pace. */
export function useSamples(itemId: string): { readonly current: readonly Sample[] } {
  const likes = useLikes();
  const [samples] = useState<{ current: readonly Sample[] }>({ current: [] });
  useEffect(() => {
    const { count } = likes.state(itemId);
    samples.current = count === null ? [] : [{ at: performance.now(), count, pushed: false }];
    return likes.onPush(itemId, ({ at, count: pushedCount }) => {
      samples.current = withSample(samples.current, { at, count: pushedCount, pushed: true });
    });
  }, [likes, itemId, samples]);
  return samples;
}
