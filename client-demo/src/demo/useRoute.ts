import { useMemo, useSyncExternalStore } from 'react';

import { formatPanes, type Panes, parsePanes } from './route';

/** The panes that the address names. */
export function useRoute(): Panes {
  const hash = useSyncExternalStore(onHashChange, () => location.hash);
  return useMemo(() => parsePanes(hash), [hash]);
}

/** Shows other panes; Back returns to the present ones. */
export function go(panes: Panes): void {
  location.hash = formatPanes(panes);
}

function onHashChange(changed: () => void): () => void {
  window.addEventListener('hashchange', changed);
  return () => window.removeEventListener('hashchange', changed);
}
