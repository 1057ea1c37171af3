import { act, cleanup, render } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { type FakeServer, fakeServer, item } from '../../like/fakeServer';
import { FakePane } from '../pane/FakePane';
import { LikeProblem } from './LikeProblem';

let server: FakeServer;
const announce = vi.fn<(text: string) => void>();

beforeEach(async () => {
  server = fakeServer();
  await firstView();
});
afterEach(() => {
  cleanup();
  server.likes.close();
  announce.mockReset();
});

/** Another view has parts of its own. */
function view(name: string): void {
  cleanup();
  render(
    <FakePane key={name} server={server} announce={announce}>
      <LikeProblem itemId="post:1" title="Chess" />
    </FakePane>,
  );
}

async function firstView(): Promise<void> {
  view('feed');
  await expect.poll(() => server.asked.length).toBe(1);
  act(() => server.push(item()));
}

async function refusedTap(): Promise<void> {
  act(() => server.likes.tap('post:1'));
  await act(async () => server.mutations().at(-1)?.refuse('ITEM_CLOSED'));
}

it('tells a problem once, in however many views it stands', async () => {
  await refusedTap();
  view('item');
  view('feed');
  expect(announce.mock.calls).toEqual([['Chess: This takes no new likes.']]);
});

it('tells it again when it happens again', async () => {
  await refusedTap();
  view('item');
  await refusedTap();
  view('feed');
  expect(announce).toHaveBeenCalledTimes(2);
});

it('tells another viewer as well', async () => {
  await refusedTap();
  const others = fakeServer();
  server.likes.close();
  server = others;
  await firstView();
  await refusedTap();
  expect(announce).toHaveBeenCalledTimes(2);
});
