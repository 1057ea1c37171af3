import { afterEach, expect, it, vi } from 'vitest';

import { LikeStatesDocument } from '../graphql/generated';
import { item } from '../like/fakeServer';

/** A socket that never opens. */
class DeadSocket extends EventTarget {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSING = 2;
  static readonly CLOSED = 3;
  readyState = 0;
  close(): void {}
}
vi.stubGlobal('WebSocket', DeadSocket);
const fetched = vi.fn<typeof fetch>();
vi.stubGlobal('fetch', fetched);
const { createViewerClient } = await import('./viewerClient');

afterEach(() => fetched.mockReset());

const settled = () => new Promise((resolve) => setTimeout(resolve));

it('is one for each person on a page', async () => {
  const first = createViewerClient({ user: 'ana' });
  const second = createViewerClient({ user: 'ana' });
  const other = createViewerClient({ user: 'ben' });
  expect(second.likes).toBe(first.likes);
  expect(other.likes).not.toBe(first.likes);
  first.close();
  first.close();
  await settled();
  expect(createViewerClient({ user: 'ana' }).likes).toBe(second.likes);
});

it('is kept while what its viewer wanted is on its way', async () => {
  let answer = (_: Response) => {};
  fetched.mockImplementation(async (input, init) => {
    if (input === '/dev/token') return Response.json({ token: 'abc', expiresAt: '2030-01-01T00:00:00.000Z' });
    if (!String(init?.body).includes('mutation')) return Response.json({ data: { items: [item()] } });
    return new Promise((resolve) => {
      answer = resolve;
    });
  });
  const cleo = createViewerClient({ user: 'cleo' });
  await cleo.client.query(LikeStatesDocument, { ids: ['post:1'] });
  cleo.likes.tap('post:1');
  cleo.close();
  await settled();
  const again = createViewerClient({ user: 'cleo' });
  expect(again.likes).toBe(cleo.likes);
  expect(again.likes.state('post:1')).toMatchObject({ liked: true, phase: 'sending' });
  again.close();
  const errors = [{ message: 'closed', extensions: { code: 'ITEM_CLOSED', retryable: false } }];
  answer(Response.json({ data: { like: null }, errors }));
  await cleo.likes.idle();
  await settled();
  expect(createViewerClient({ user: 'cleo' }).likes).not.toBe(cleo.likes);
});
