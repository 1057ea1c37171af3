import { act, cleanup, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { type FakeServer, fakeServer, item } from '../../like/fakeServer';
import { FakePane } from '../pane/FakePane';
import { LikedItems } from './LikedItems';

let server: FakeServer;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal(
    'IntersectionObserver',
    class {
      observe() {}
      disconnect() {}
    },
  );
  // jsdom has no layout to scroll in.
  Element.prototype.scrollIntoView = () => {};
  server = fakeServer();
  render(
    <FakePane server={server}>
      <LikedItems />
    </FakePane>,
  );
});
afterEach(() => {
  cleanup();
  server.likes.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** The server answers the question of that name, once it is asked, with these items. */
async function answer(name: string, ids: readonly string[]): Promise<void> {
  await act(async () => {
    await vi.advanceTimersByTimeAsync(name === 'NewestLikedItem' ? 3_000 : 0);
  });
  const asked = server.asked.find((one) => one.name === name && one.waits());
  if (!asked) throw new Error(`${name} is not asked`);
  const edges = ids.map((id) => ({ cursor: id, likedAt: '2030-01-01T00:00:00.000Z', node: item({ id }) }));
  const pageInfo = { hasNextPage: false, endCursor: ids.at(-1) ?? null };
  await act(async () => asked.answer({ viewer: { user: { id: 'ana' }, likedItems: { edges, pageInfo } } }));
}

const titles = () => screen.queryAllByText(/^(Chess|Go|Hex)$/).map(({ textContent }) => textContent);
const newestButton = () => screen.queryByText('Show the newest');

it('offers what the viewer liked elsewhere, and shows it first', async () => {
  await answer('MyLikedItems', ['game:chess']);
  await answer('NewestLikedItem', ['game:chess']);
  expect(newestButton()).toBeNull();
  await answer('NewestLikedItem', ['game:go']);
  act(() => newestButton()?.click());
  await answer('MyLikedItems', ['game:go', 'game:chess']);
  expect(titles()).toEqual(['Go', 'Chess']);
  expect(newestButton()).toBeNull();
});

it('offers it also where there was nothing', async () => {
  await answer('MyLikedItems', []);
  await answer('NewestLikedItem', []);
  expect(newestButton()).toBeNull();
  await answer('NewestLikedItem', ['game:go']);
  expect(newestButton()).not.toBeNull();
});

it('offers nothing for what is taken back and liked again in the list itself', async () => {
  await answer('MyLikedItems', ['game:go', 'game:chess']);
  await answer('NewestLikedItem', ['game:chess']);
  expect(newestButton()).toBeNull();
  expect(titles()).toEqual(['Go', 'Chess']);
});
