import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { type FakeServer, fakeServer, item } from './fakeServer';

let server: FakeServer;
const askToSignIn = vi.fn();

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  server.likes.close();
  askToSignIn.mockReset();
  vi.useRealTimers();
});

it('asks to sign in who is not, and says what for', () => {
  server = fakeServer({ signedIn: false, askToSignIn });
  server.likes.tap('post:1');
  expect(askToSignIn).toHaveBeenCalledExactlyOnceWith('post:1');
  expect(server.likes.state('post:1').liked).toBe(false);
  expect(server.mutations()).toHaveLength(0);
});

it('likes once signed in what was tapped before, whether its heart is known or not', async () => {
  server = fakeServer();
  server.likes.subscribe('post:1', () => {});
  server.likes.like('post:1');
  expect(server.likes.state('post:1')).toMatchObject({ liked: true, count: null, phase: 'sending' });
  expect(server.mutations().map(({ name }) => name)).toEqual(['Like']);
  server.mutations()[0]?.answer({ like: { item: item({ likeCount: 11, likedByMe: true, myReactionVersion: 1 }) } });
  await vi.advanceTimersByTimeAsync(0);
  expect(server.likes.state('post:1')).toMatchObject({ liked: true, count: 11, phase: 'settled' });
  // It is liked already: there is nothing to send.
  server.likes.like('post:1');
  await vi.advanceTimersByTimeAsync(0);
  expect(server.mutations()).toHaveLength(1);
  expect(server.likes.state('post:1')).toMatchObject({ liked: true, count: 11, phase: 'settled' });
});
