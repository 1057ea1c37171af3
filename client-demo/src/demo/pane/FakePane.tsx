// For tests: the inside of a pane whose server is the test itself.

import type { ReactNode } from 'react';
import { Provider } from 'urql';

import type { Connection, ConnectionState } from '../../api/connection';
import type { FakeServer } from '../../like/fakeServer';
import { LikesProvider } from '../../like/LikesContext';
import { formatPanes } from '../route';
import { PaneContext } from './PaneContext';

export class FakeConnection {
  private now: ConnectionState;
  private readonly listeners = new Set<() => void>();

  constructor(now: ConnectionState = 'live') {
    this.now = now;
  }

  state(): ConnectionState {
    return this.now;
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  become(state: ConnectionState): void {
    this.now = state;
    for (const listener of this.listeners) listener();
  }
}

interface Props {
  server: FakeServer;
  connection?: FakeConnection;
  announce?: (text: string) => void;
  children: ReactNode;
}

const silent = () => {};
const live = new FakeConnection();

export function FakePane({ server, connection = live, announce = silent, children }: Props) {
  const scope = {
    viewer: 'ana',
    // Its shape is all that the page uses of it.
    connection: connection as unknown as Connection,
    href: (view: Parameters<typeof formatPanes>[0][0]['view']) => formatPanes([{ viewer: 'ana', view }]),
    askToSignIn: silent,
    announce,
  };
  return (
    <PaneContext value={scope}>
      <Provider value={server.client}>
        <LikesProvider likes={server.likes}>{children}</LikesProvider>
      </Provider>
    </PaneContext>
  );
}
