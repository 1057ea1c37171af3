import { useEffect, useMemo, useSyncExternalStore } from 'react';

import { rememberedViewer } from '../api/remembered';
import { formatPanes, type Panes, parsePanes } from './route';

/** The panes that the address names. One that names something else is replaced by that of what is shown. */
export function useRoute(): Panes {
  const hash = useSyncExternalStore(onHashChange, () => location.hash);
  const panes = useMemo(() => parsePanes(hash, rememberedViewer()), [hash]);
  useEffect(() => {
    const right = formatPanes(panes);
    if (hash !== '' && hash !== right) history.replaceState(history.state, '', right);
  }, [hash, panes]);
  return panes;
}

/** Shows other panes; Back returns to the present ones. */
export function go(panes: Panes): void {
  location.hash = formatPanes(panes);
}

/** Shows other panes in the place of the present ones: Back returns to what was before them. */
export function replace(panes: Panes): void {
  history.replaceState(history.state, '', formatPanes(panes));
  // Which nobody is told of otherwise.
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}

function onHashChange(changed: () => void): () => void {
  window.addEventListener('hashchange', changed);
  return () => window.removeEventListener('hashchange', changed);
}
