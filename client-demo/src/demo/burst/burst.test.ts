// @vitest-environment node
import { expect, it, vi } from 'vitest';

import { type BurstResult, sendBurst } from './burst';

interface Call {
  readonly path: string;
  readonly body: { user?: string; variables?: { itemId: string; key: string } };
  readonly authorization: string | null;
}

/** A server that knows two paths; `answer` says what becomes of a user's like. */
function server(answer: (user: string) => Response | Promise<Response> = () => Response.json({ data: {} })) {
  const calls: Call[] = [];
  let open = 0;
  let mostOpen = 0;
  const fetch: typeof globalThis.fetch = async (path, init) => {
    const call: Call = {
      path: String(path),
      body: JSON.parse(String(init?.body)),
      authorization: new Headers(init?.headers).get('authorization'),
    };
    calls.push(call);
    open += 1;
    mostOpen = Math.max(mostOpen, open);
    await Promise.resolve();
    open -= 1;
    init?.signal?.throwIfAborted();
    if (call.path === '/dev/token') return Response.json({ token: `token of ${call.body.user}` });
    return answer(call.body.variables?.key ?? '');
  };
  return { calls, fetch, mostOpen: () => mostOpen };
}

const signal = new AbortController().signal;
const common = { itemId: 'post:1', run: 'r', signal, onProgress: () => {} };

it('likes once as each of as many users, with their tokens', async () => {
  const { calls, fetch, mostOpen } = server();
  expect(await sendBurst({ ...common, likes: 30, fetch })).toEqual({
    done: 30,
    failed: 0,
    reason: null,
    broken: false,
  });

  const likes = calls.filter((call) => call.path === '/graphql');
  const users = likes.map((call) => call.body.variables?.key);
  expect(new Set(users)).toEqual(new Set(Array.from({ length: 30 }, (_, n) => `guest:r-${n + 1}`)));
  expect(likes.every((call) => call.authorization === `Bearer token of ${call.body.variables?.key}`)).toBe(true);
  expect(likes.every((call) => call.body.variables?.itemId === 'post:1')).toBe(true);
  expect(mostOpen()).toBe(4);
});

it('counts what failed, and says why the first did', async () => {
  const { fetch } = server((user) => {
    if (user === 'guest:r-3') return new Response('', { status: 503 });
    if (user === 'guest:r-9')
      return Response.json({ data: { like: null }, errors: [{ message: 'The item is closed' }] });
    return Response.json({ data: {} });
  });
  const progress: BurstResult[] = [];
  const result = await sendBurst({ ...common, likes: 10, fetch, onProgress: (now) => progress.push(now) });
  expect(result).toEqual({ done: 8, failed: 2, reason: '/graphql answered 503', broken: false });
  expect(progress.map(({ done, failed }) => done + failed)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

it('stops when it is cancelled, and counts what was answered and nothing that was cut off', async () => {
  const cancel = new AbortController();
  let answered = 0;
  const { calls, fetch } = server(() => {
    answered += 1;
    return Response.json({ data: {} });
  });
  const onProgress = ({ done }: BurstResult) => {
    if (done === 5) cancel.abort();
  };
  const result = await sendBurst({ ...common, likes: 300, fetch, signal: cancel.signal, onProgress });
  expect(result).toEqual({ done: answered, failed: 0, reason: null, broken: false });
  expect(calls.length).toBeLessThan(30);
});

it('ends when the server can no longer be reached', async () => {
  let answered = 0;
  const { calls, fetch } = server(() => {
    if (answered === 20) throw new TypeError('Failed to fetch');
    answered += 1;
    return Response.json({ data: {} });
  });
  const result = await sendBurst({ ...common, likes: 300, fetch });
  expect(result).toEqual({ done: 20, failed: 0, reason: null, broken: true });
  expect(calls.length).toBeLessThan(60);
});

it('ends when the server does not answer any more', async () => {
  const patience = new AbortController();
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(patience.signal);
  const hang: typeof fetch = (_, init) =>
    new Promise((_, reject) => {
      init?.signal?.addEventListener('abort', () => reject(new DOMException('', 'TimeoutError')));
    });
  const burst = sendBurst({ ...common, likes: 300, fetch: hang });
  expect(timeout).toHaveBeenCalledWith(10_000);
  patience.abort();
  expect(await burst).toEqual({ done: 0, failed: 0, reason: null, broken: true });
  timeout.mockRestore();
});
