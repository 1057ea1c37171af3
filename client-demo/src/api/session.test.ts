import { afterEach, expect, it, vi } from 'vitest';

import { authorised, Session } from './session';

const server = vi.fn<typeof fetch>();
vi.stubGlobal('fetch', server);
afterEach(() => server.mockReset());

const tokens = () => server.mock.calls.filter(([path]) => path === '/dev/token').length;
const pass = (token: string, expiresAt = '2999-01-01T00:00:00.000Z') => Response.json({ token, expiresAt });

it('takes one token for many requests', async () => {
  server.mockImplementation(async () => pass('abc'));
  const session = new Session('ana');
  expect(await Promise.all([session.token(), session.token()])).toEqual(['abc', 'abc']);
  expect(tokens()).toBe(1);
});

it.each(['', 'soon', '1970-01-01T00:00:00.000Z'])('uses a token that ends at %j, by this clock', async (expiresAt) => {
  server.mockImplementation(async () => pass('abc', expiresAt));
  const session = new Session('ana');
  expect(await session.token()).toBe('abc');
  expect(await session.token()).toBe('abc');
  expect(tokens()).toBe(1);
});

it('asks again after a failure', async () => {
  server.mockRejectedValueOnce(new TypeError('Failed to fetch'));
  const session = new Session('ana');
  await expect(session.token()).rejects.toThrow('Failed to fetch');
  server.mockImplementation(async () => pass('abc'));
  expect(await session.token()).toBe('abc');
});

it('replaces a token that is refused, once', async () => {
  server.mockImplementation(async (path) =>
    path === '/dev/token' ? pass(`token ${tokens()}`) : new Response('', { status: 401 }),
  );
  const response = await authorised(new Session('ana'))('/graphql', { method: 'POST' });
  expect(response.status).toBe(401);
  const sent = server.mock.calls.filter(([path]) => path === '/graphql').map(([, init]) => new Headers(init?.headers));
  expect(sent.map((headers) => headers.get('authorization'))).toEqual(['Bearer token 1', 'Bearer token 2']);
});
