import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { createFetcher } from './fetcher';

const WATCH = 'subscription { itemUpdated(ids: ["post:1"]) { id } }';

const server = vi.fn<typeof fetch>();
/** The sockets that were opened, oldest first. */
let sockets: FakeSocket[];
/** Whether connections are refused. */
let serverIsAway: boolean;

beforeEach(() => {
  serverIsAway = false;
  sockets = [];
  server.mockReset();
  vi.stubGlobal('fetch', server);
  vi.stubGlobal('WebSocket', FakeSocket);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it('posts queries with the headers of the tab', async () => {
  server.mockResolvedValue(Response.json({ data: { viewer: null } }));
  const request = { query: '{ viewer { user { id } } }' };
  const answer = await createFetcher('/graphql')(request, { headers: { authorization: 'Bearer abc' } });
  expect(answer).toEqual({ data: { viewer: null } });
  const [path, sent] = server.mock.lastCall ?? [];
  expect(path).toBe('/graphql');
  expect(new Headers(sent?.headers).get('authorization')).toBe('Bearer abc');
  expect(sent?.body).toBe(JSON.stringify(request));
});

it('shows an answer that is not JSON', async () => {
  server.mockResolvedValue(new Response('no backend', { status: 502 }));
  const answer = await createFetcher('/graphql')({ query: '{ viewer { user { id } } }' });
  expect(answer).toEqual({ errors: [{ message: 'The server answered 502: no backend' }] });
});

it('sends a text that does not parse to the server, which says what is wrong', async () => {
  server.mockResolvedValue(Response.json({ errors: [{ message: 'no' }] }));
  expect(await createFetcher('/graphql')({ query: 'subscription {' })).toEqual({ errors: [{ message: 'no' }] });
});

it('names the operation that the text has, also right after a change of tabs', async () => {
  server.mockResolvedValue(Response.json({ data: { viewer: null } }));
  const query = 'query Me { viewer { user { id } } }';
  await createFetcher('/graphql')({ query, operationName: 'Watch' });
  expect(server.mock.lastCall?.[1]?.body).toBe(JSON.stringify({ query, operationName: 'Me' }));
});

it('watches over a socket with the token of the tab', async () => {
  const next = watch({ Authorization: 'Bearer abc' }).next();
  const socket = await opened();
  expect(socket.url).toBe('ws://localhost:3000/graphql');
  expect(socket.sent[0]).toEqual({ type: 'connection_init', payload: { token: 'abc' } });
  socket.say({ type: 'next', id: await subscribed(socket), payload: { data: { itemUpdated: { id: 'post:1' } } } });
  expect(await next).toEqual({ done: false, value: { data: { itemUpdated: { id: 'post:1' } } } });
});

it('watches without a token', async () => {
  void watch({}).next();
  expect((await opened()).sent[0]).toEqual({ type: 'connection_init', payload: {} });
});

it('shows a refused subscription as a refused query is shown', async () => {
  const next = watch({}).next();
  const socket = await opened();
  socket.say({ type: 'error', id: await subscribed(socket), payload: [{ message: 'At most 100 ids.' }] });
  expect(await next).toEqual({ done: false, value: { errors: [{ message: 'At most 100 ids.' }] } });
});

it('gives up at once where the token is refused', async () => {
  const events = watch({ authorization: 'Bearer old' });
  const next = events.next();
  (await opened()).close(4403, 'The token has expired.');
  const message = 'The socket was closed with 4403: The token has expired.';
  expect(await next).toEqual({ done: false, value: { errors: [{ message }] } });
  expect(await events.next()).toEqual({ done: true, value: undefined });
  expect(sockets).toHaveLength(1);
});

it('goes on after an outage', async () => {
  vi.useFakeTimers();
  const events = watch({});
  const next = events.next();
  const first = await opened();
  await subscribed(first);
  serverIsAway = true;
  first.fail();
  await passes(() => sockets.length === 3);
  serverIsAway = false;
  await passes(() => sockets.length === 4);
  const again = await opened(3);
  again.say({ type: 'next', id: await subscribed(again), payload: { data: { itemUpdated: { id: 'post:1' } } } });
  expect(await next).toEqual({ done: false, value: { data: { itemUpdated: { id: 'post:1' } } } });
});

it('says in the end that the server cannot be reached', async () => {
  vi.useFakeTimers();
  serverIsAway = true;
  const ended = vi.fn();
  watch({}).next().then(ended);
  await passes(() => ended.mock.calls.length > 0);
  const message = 'The server cannot be reached, or takes no more sockets.';
  expect(ended).toHaveBeenCalledWith({ done: false, value: { errors: [{ message }] } });
  expect(sockets).toHaveLength(6);
});

it('stops at once, in the middle of waiting', async () => {
  const events = watch({});
  const next = events.next();
  const socket = await opened();
  const id = await subscribed(socket);
  await events.return?.();
  expect(await next).toEqual({ done: true, value: undefined });
  expect(socket.sent.at(-1)).toEqual({ type: 'complete', id });
  await vi.waitFor(() => expect(socket.readyState).toBe(FakeSocket.CLOSED));
});

function watch(headers: Record<string, string>): AsyncIterableIterator<unknown> {
  const answer = createFetcher('/graphql')({ query: WATCH }, { headers });
  return answer as AsyncIterableIterator<unknown>;
}

/** Lets time pass, five minutes at most, until something has happened. */
async function passes(hasHappened: () => boolean) {
  for (let seconds = 0; seconds < 300 && !hasHappened(); seconds++) await vi.advanceTimersByTimeAsync(1_000);
  expect(hasHappened()).toBe(true);
}

/** The socket, once the client has said `connection_init` on it. */
function opened(number = 0): Promise<FakeSocket> {
  return vi.waitFor(() => {
    const socket = sockets[number];
    if (socket === undefined || socket.sent.length === 0) throw new Error('no socket yet');
    return socket;
  });
}

/** Acknowledges, and waits for the subscription. */
function subscribed(socket: FakeSocket): Promise<string> {
  socket.say({ type: 'connection_ack' });
  return vi.waitFor(() => {
    const id = socket.sent.find((message) => message.type === 'subscribe')?.id;
    if (id === undefined) throw new Error('not subscribed yet');
    return id;
  });
}

interface Message {
  readonly type: string;
  readonly id?: string;
  readonly payload?: unknown;
}

/** The client's end of a socket; the test is the server. */
class FakeSocket {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSING = 2;
  static readonly CLOSED = 3;

  readonly sent: Message[] = [];
  readonly url: string;
  readyState = FakeSocket.OPEN;
  onopen?: () => void;
  onmessage?: (event: { readonly data: string }) => void;
  onerror?: (event: Event) => void;
  onclose?: (event: CloseEvent) => void;

  constructor(url: string) {
    this.url = url;
    sockets.push(this);
    const refused = serverIsAway;
    queueMicrotask(() => (refused ? this.fail() : this.onopen?.()));
  }

  send(text: string) {
    this.sent.push(JSON.parse(text));
  }

  say(message: Message) {
    this.onmessage?.({ data: JSON.stringify(message) });
  }

  /** As browsers tell of a connection that was refused or broke: by an event that says nothing, and then by another. */
  fail() {
    this.readyState = FakeSocket.CLOSED;
    this.onerror?.(new Event('error'));
    this.onclose?.(new CloseEvent('close', { code: 1006, wasClean: false }));
  }

  close(code = 1000, reason = '') {
    this.readyState = FakeSocket.CLOSED;
    this.onclose?.(new CloseEvent('close', { code, reason, wasClean: true }));
  }
}
