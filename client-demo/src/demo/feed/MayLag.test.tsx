import { act, cleanup, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { type FakeServer, fakeServer, item } from '../../like/fakeServer';
import { FakeConnection, FakePane } from '../pane/FakePane';
import { MayLag } from './MayLag';

let server: FakeServer;
let connection: FakeConnection;

beforeEach(() => {
  vi.useFakeTimers();
  server = fakeServer();
  connection = new FakeConnection('connecting');
  render(
    <FakePane server={server} connection={connection}>
      <MayLag itemId="post:1" />
    </FakePane>,
  );
  pass(0);
});
afterEach(() => {
  cleanup();
  server.likes.close();
  vi.useRealTimers();
});

function pass(millis: number): void {
  act(() => {
    vi.advanceTimersByTime(millis);
  });
}

const shown = () => screen.queryByText('may lag') !== null;

it('says so where the first connection hangs, but not of a number that is not there', () => {
  pass(60_000);
  expect(shown()).toBe(false);
  act(() => server.push(item()));
  expect(shown()).toBe(true);
  act(() => connection.become('live'));
  expect(shown()).toBe(false);
});

it('says nothing while a connection takes its time', () => {
  act(() => server.push(item()));
  pass(2_900);
  expect(shown()).toBe(false);
  pass(200);
  expect(shown()).toBe(true);
});

it.each(['offline', 'reconnecting'] as const)('says so at once when the connection is %s', (state) => {
  act(() => server.push(item()));
  act(() => connection.become('live'));
  act(() => connection.become(state));
  expect(shown()).toBe(true);
});

it('says so of a number that the server calls stale', () => {
  act(() => connection.become('live'));
  act(() => server.push(item({ countFreshness: 'STALE' })));
  expect(shown()).toBe(true);
});
