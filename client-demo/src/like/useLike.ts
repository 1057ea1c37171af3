// The like button without its looks: what to show of an item, live, and what a tap does.

import { useCallback, useMemo, useSyncExternalStore } from 'react';

import { useLikes } from './LikesContext';
import type { LikeState } from './likes';

export interface Like extends LikeState {
  /** The viewer taps: the heart and the number follow at once, the server as soon as it can. */
  tap(): void;
  dismissProblem(): void;
}

export function useLike(itemId: string): Like {
  const likes = useLikes();
  const subscribe = useCallback((changed: () => void) => likes.subscribe(itemId, changed), [likes, itemId]);
  const read = () => likes.state(itemId);
  const state = useSyncExternalStore(subscribe, read, read);
  return useMemo(
    () => ({
      ...state,
      tap: () => likes.tap(itemId),
      dismissProblem: () => likes.dismissProblem(itemId),
    }),
    [state, likes, itemId],
  );
}
