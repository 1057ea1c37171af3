import { useEffect, useRef } from 'react';

import { type ConnectionState, useConnection } from '../../api/connection';
import { usePane } from './PaneContext';

const texts: Record<ConnectionState, string> = {
  connecting: 'Connecting',
  live: 'Live',
  reconnecting: 'Reconnecting',
  refused: 'Not accepted',
  offline: 'Offline',
};

/** A state that lasts less is not read out: a socket that comes and goes would never let anything else be heard. */
const LASTING_MS = 2_000;

/** Whether pushes arrive. A loss that lasts is announced, and its end; the first connecting is not. */
export function ConnectionBadge() {
  const { connection, announce } = usePane();
  const state = useConnection(connection);
  /** What a listener believes: all is well until something else was announced, also of another viewer's connection. */
  const told = useRef<ConnectionState>('live');

  useEffect(() => {
    if (state === told.current || state === 'connecting') return;
    const timer = setTimeout(() => {
      told.current = state;
      announce(`Connection: ${texts[state]}`);
    }, LASTING_MS);
    return () => clearTimeout(timer);
  }, [state, announce]);

  return (
    <span className="connection" data-connection={state}>
      {texts[state]}
    </span>
  );
}
