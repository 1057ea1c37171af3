import { act, cleanup, render, screen } from '@testing-library/react';
import { afterEach, expect, it } from 'vitest';

import { type FakeServer, fakeServer, item } from '../../like/fakeServer';
import { items } from '../catalogue';
import { FakePane } from '../pane/FakePane';
import { Feed } from './Feed';

let server: FakeServer;

afterEach(() => {
  cleanup();
  server.likes.close();
});

const named = (name: string) => server.asked.filter((asked) => asked.name === name);
const feedQuery = () => named('Feed').find(({ waits }) => waits());
const notice = () => screen.queryByText(/could not be read/);

async function failedFeed(): Promise<void> {
  server = fakeServer();
  render(
    <FakePane server={server}>
      <Feed />
    </FakePane>,
  );
  await expect.poll(() => named('LikeUpdates').length).toBe(1);
  await act(async () => feedQuery()?.refuse('OVERLOADED'));
}

it('says that the likes could not be read until all of them are known some other way', async () => {
  await failedFeed();
  const [first, ...others] = items;
  act(() => server.push(item({ id: first?.id ?? '' })));
  expect(notice()).not.toBeNull();
  act(() => {
    for (const { id } of others) server.push(item({ id }));
  });
  expect(notice()).toBeNull();
});

it('reads them again when it is told to', async () => {
  await failedFeed();
  act(() => screen.getByText('Try again').click());
  await act(async () => feedQuery()?.answer({ items: items.map(({ id }) => item({ id })) }));
  expect(notice()).toBeNull();
  expect(screen.getAllByText('10').length).toBe(items.length);
});
