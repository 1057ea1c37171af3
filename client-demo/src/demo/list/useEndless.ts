import { useEffect, useMemo, useSyncExternalStore } from 'react';

import { useConnection } from '../../api/connection';
import { usePane } from '../pane/PaneContext';
import { Endless, type EndlessState, type Page } from './endless';

/** How often a page that failed is asked for again while the connection is live. */
const RETRY_MS = 3_000;

export interface EndlessList<Row> extends EndlessState<Row> {
  more(): Promise<void>;
  restart(): Promise<void>;
}

/**
 * The pages that `load` reads; begins anew whenever `load` is another function. A page that failed while the server was away
 * comes by itself once it is back.
 */
export function useEndless<Row>(load: (after: string | null) => Promise<Page<Row>>): EndlessList<Row> {
  const list = useMemo(() => new Endless(load), [load]);
  useEffect(() => {
    void list.restart();
  }, [list]);
  const state = useSyncExternalStore(list.subscribe, list.state);
  const { connection } = usePane();
  const isWaiting = useConnection(connection) === 'live' && state.phase === 'failed';
  useEffect(() => {
    if (!isWaiting) return;
    void list.retry();
    const timer = setInterval(() => void list.retry(), RETRY_MS);
    return () => clearInterval(timer);
  }, [list, isWaiting]);
  return { ...state, more: list.more, restart: list.restart };
}
