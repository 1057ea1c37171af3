import { useEffect, useRef } from 'react';

import { type ConnectionState, useConnection } from '../../api/connection';
import { usePane } from './PaneContext';

const texts: Record<ConnectionState, string> = {
  connecting: 'Connecting',
  live: 'Live',
  reconnecting: 'Reconnecting',
  offline: 'Offline',
};

/** Whether pushes arrive. A change is announced, the first connecting is not. */
export function ConnectionBadge() {
  const { connection, announce } = usePane();
  const state = useConnection(connection);
  const last = useRef(state);

  useEffect(() => {
    const before = last.current;
    last.current = state;
    if (before !== state && before !== 'connecting') announce(`Connection: ${texts[state]}`);
  }, [state, announce]);

  return (
    <span className="connection" data-connection={state}>
      {texts[state]}
    </span>
  );
}
