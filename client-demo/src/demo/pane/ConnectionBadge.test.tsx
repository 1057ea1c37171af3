import { act, cleanup, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import type { ConnectionState } from '../../api/connection';
import { type FakeServer, fakeServer } from '../../like/fakeServer';
import { ConnectionBadge } from './ConnectionBadge';
import { FakeConnection, FakePane } from './FakePane';

let server: FakeServer;
let first: FakeConnection;
let said: string[];
let rerender: (connection: FakeConnection) => void;

beforeEach(() => {
  vi.useFakeTimers();
  server = fakeServer();
  first = new FakeConnection('connecting');
  said = [];
  const announce = (text: string) => said.push(text);
  const pane = (connection: FakeConnection) => (
    <FakePane server={server} connection={connection} announce={announce}>
      <ConnectionBadge />
    </FakePane>
  );
  const rendered = render(pane(first));
  rerender = (connection) => rendered.rerender(pane(connection));
});
afterEach(() => {
  cleanup();
  server.likes.close();
  vi.useRealTimers();
});

function lasts(state: ConnectionState, millis: number, connection = first): void {
  act(() => connection.become(state));
  act(() => {
    vi.advanceTimersByTime(millis);
  });
}

it('says nothing of a first connection, however long it takes', () => {
  lasts('connecting', 60_000);
  lasts('live', 60_000);
  expect(said).toEqual([]);
});

it('says that the connection is lost for longer, and that it is back', () => {
  lasts('live', 5_000);
  lasts('reconnecting', 5_000);
  lasts('offline', 5_000);
  lasts('live', 5_000);
  expect(said).toEqual(['Connection: Reconnecting', 'Connection: Offline', 'Connection: Live']);
});

it('says nothing of what lasts for less than two seconds, but shows it', () => {
  lasts('live', 5_000);
  for (let round = 0; round < 10; round++) {
    lasts('reconnecting', 1_500);
    expect(screen.getByText('Reconnecting')).toBeTruthy();
    lasts('live', 1_500);
  }
  expect(said).toEqual([]);
});

it('says nothing between a loss and a return that lasts', () => {
  lasts('live', 5_000);
  lasts('reconnecting', 5_000);
  for (let round = 0; round < 10; round++) {
    lasts('live', 1_000);
    lasts('reconnecting', 5_000);
  }
  lasts('live', 5_000);
  expect(said).toEqual(['Connection: Reconnecting', 'Connection: Live']);
});

it('says the same once for one viewer after the other', () => {
  lasts('live', 5_000);
  lasts('offline', 5_000);
  const second = new FakeConnection('offline');
  rerender(second);
  lasts('offline', 5_000, second);
  lasts('connecting', 5_000, second);
  lasts('live', 5_000, second);
  expect(said).toEqual(['Connection: Offline', 'Connection: Live']);
});
