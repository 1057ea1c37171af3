import { useEffect, useMemo, useSyncExternalStore } from 'react';

import { Endless, type EndlessState, type Page } from './endless';

export interface EndlessList<Row> extends EndlessState<Row> {
  more(): Promise<void>;
  restart(): Promise<void>;
}

/** The pages that `load` reads; begins anew whenever `load` is another function. */
export function useEndless<Row>(load: (after: string | null) => Promise<Page<Row>>): EndlessList<Row> {
  const list = useMemo(() => new Endless(load), [load]);
  useEffect(() => {
    void list.restart();
  }, [list]);
  const state = useSyncExternalStore(list.subscribe, list.state);
  return { ...state, more: list.more, restart: list.restart };
}
