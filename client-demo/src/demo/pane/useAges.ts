import { useEffect } from 'react';

import type { Likes } from '../../like/likes';

/** How often a pane that is seen asks how old its counts are. */
const INTERVAL_MS = 10_000;

/**
 * Keeps “counted up to” and “may lag” honest: no push says that nothing has happened, and none comes to a signed-in viewer
 * while the server's store is away.
 */
export function useAges(likes: Likes | undefined): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible' && navigator.onLine) likes?.refresh();
    }, INTERVAL_MS);
    return () => clearInterval(timer);
  }, [likes]);
}
