import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import type { Connection } from './connection';
import { Session } from './session';

/** A socket that the test opens, answers and breaks. */
class FakeSocket extends EventTarget {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSING = 2;
  static readonly CLOSED = 3;
  static made: FakeSocket[] = [];
  readyState = FakeSocket.CONNECTING;
  sent: string[] = [];
  onopen: (() => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  onclose: ((event: CloseEvent) => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;

  constructor() {
    super();
    FakeSocket.made.push(this);
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text).type);
  }

  open(): void {
    this.readyState = FakeSocket.OPEN;
    this.dispatchEvent(new Event('open'));
    this.onopen?.();
  }

  say(type: string): void {
    this.onmessage?.({ data: JSON.stringify({ type }) });
  }

  close(code = 1006): void {
    if (this.readyState === FakeSocket.CLOSED) return;
    const isRefused = this.readyState === FakeSocket.CONNECTING;
    this.readyState = FakeSocket.CLOSED;
    // As browsers do: a connection that never opened is an error first.
    if (isRefused) this.onerror?.(new Event('error'));
    const event = new CloseEvent('close', { code, reason: '' });
    this.dispatchEvent(event);
    this.onclose?.(event);
  }
}

vi.stubGlobal('WebSocket', FakeSocket);
const { Connection: RealConnection } = await import('./connection');

let connection: Connection;
const last = () => FakeSocket.made.at(-1) as FakeSocket;
const wait = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

async function refuse(): Promise<void> {
  last().open();
  last().close(4403);
  await wait(0);
}

async function goLive(): Promise<void> {
  last().open();
  await wait(0);
  last().say('connection_ack');
  await wait(0);
}

beforeEach(async () => {
  vi.useFakeTimers();
  FakeSocket.made = [];
  connection = new RealConnection('ws://127.0.0.1/graphql', new Session(null));
  await wait(0);
});

afterEach(() => {
  connection.close();
  vi.useRealTimers();
});

it('is live once the server has spoken, whatever is watched, and says so when it is not', async () => {
  expect(connection.state()).toBe('connecting');
  await goLive();
  expect(connection.state()).toBe('live');
  await wait(5_000);
  expect(connection.state()).toBe('live');
  last().close();
  await wait(0);
  expect(connection.state()).toBe('reconnecting');
  await wait(1_000);
  expect(FakeSocket.made).toHaveLength(2);
  await goLive();
  expect(connection.state()).toBe('live');
});

it('gives up a handshake that hangs', async () => {
  await wait(6_000);
  expect(FakeSocket.made).toHaveLength(2);
  await goLive();
  expect(connection.state()).toBe('live');
});

it('gives up a socket whose server never speaks', async () => {
  last().open();
  await wait(6_000);
  expect(FakeSocket.made).toHaveLength(2);
});

it('gives up a quiet socket that does not answer a ping', async () => {
  await goLive();
  await wait(10_000);
  expect(last().sent).toContain('ping');
  await wait(3_000);
  expect(FakeSocket.made).toHaveLength(2);
});

it('has another socket within two seconds of being shown, if the old one is dead', async () => {
  await goLive();
  document.dispatchEvent(new Event('visibilitychange'));
  await wait(1_500);
  expect(FakeSocket.made).toHaveLength(2);
});

it('keeps a socket that answers when the page is shown', async () => {
  await goLive();
  document.dispatchEvent(new Event('visibilitychange'));
  await wait(100);
  last().say('pong');
  await wait(5_000);
  expect(FakeSocket.made).toHaveLength(1);
  expect(connection.state()).toBe('live');
});

it('does not take the answer to an older ping for that of a newer one', async () => {
  await goLive();
  await wait(10_000);
  document.dispatchEvent(new Event('visibilitychange'));
  expect(last().sent.filter((type) => type === 'ping')).toHaveLength(2);
  last().say('pong');
  await wait(1_500);
  expect(FakeSocket.made).toHaveLength(2);
});

it('does not wait longer for a dead socket where the page is looked at again and again', async () => {
  await goLive();
  for (let look = 0; look < 3; look++) {
    document.dispatchEvent(new Event('visibilitychange'));
    await wait(500);
  }
  expect(FakeSocket.made).toHaveLength(2);
});

it('says that the viewer is refused once a new token was not taken either, and takes it back', async () => {
  await goLive();
  last().close(4403);
  await wait(0);
  expect(connection.state()).toBe('reconnecting');
  await wait(1_000);
  await refuse();
  expect(connection.state()).toBe('refused');
  // The next try begins, and as long as nobody has answered it the last word holds.
  await wait(2_000);
  expect(FakeSocket.made).toHaveLength(3);
  expect(connection.state()).toBe('refused');
  await goLive();
  expect(connection.state()).toBe('live');
  last().close(4403);
  await wait(0);
  expect(connection.state()).toBe('reconnecting');
});

it('says so of a viewer who never was let in', async () => {
  await refuse();
  expect(connection.state()).toBe('connecting');
  await wait(1_000);
  await refuse();
  expect(connection.state()).toBe('refused');
});

it('may be closed while it is being made, and however that ends', async () => {
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  for (const end of [() => last().close(), () => last().close(4403), () => wait(6_000)]) {
    const other = new RealConnection('ws://127.0.0.1/graphql', new Session(null));
    await wait(0);
    other.close();
    await end();
    await wait(20_000);
  }
  vi.useRealTimers();
  await new Promise((resolve) => setTimeout(resolve, 10));
  process.off('unhandledRejection', unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});
