import { useEffect, useState } from 'react';
import { useClient } from 'urql';

import { NewestLikedItemDocument } from '../../graphql/generated';
import { onReturn } from '../../like/pause';

/** How often it is asked for while the page is seen: nothing is pushed to a list. */
const INTERVAL_MS = 3_000;

/** The item that the viewer liked last, in this pane, in another or on another device; null until it is known. */
export function useNewestLiked(): string | null {
  const client = useClient();
  const [newest, setNewest] = useState<string | null>(null);
  useEffect(() => {
    let over = false;
    const ask = async () => {
      if (document.visibilityState !== 'visible' || !navigator.onLine) return;
      const { data } = await client.query(NewestLikedItemDocument, {}, { requestPolicy: 'network-only' });
      const edges = data?.viewer?.likedItems?.edges;
      if (edges && !over) setNewest(edges[0]?.node.id ?? null);
    };
    const timer = setInterval(ask, INTERVAL_MS);
    const stopListening = onReturn(() => void ask());
    return () => {
      over = true;
      clearInterval(timer);
      stopListening();
    };
  }, [client]);
  return newest;
}
