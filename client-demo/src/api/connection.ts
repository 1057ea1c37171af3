// The viewer's WebSocket: made when something is watched, kept alive, remade, and honest about its state.

import { createClient, type Client as SocketClient } from 'graphql-ws';
import { useSyncExternalStore } from 'react';

import { backoff, onReturn, pause } from '../like/pause';
import type { Session } from './session';

/** `refused`: the server takes no token of this viewer, whose account was deleted, say. */
export type ConnectionState = 'connecting' | 'live' | 'reconnecting' | 'refused' | 'offline';

/** Between two pings of a quiet socket. */
const KEEP_ALIVE_MS = 10_000;
/** A socket that does not answer a ping in this time is dead, whatever the browser thinks. */
const PONG_MS = 2_000;
/** The same for a page that has just been shown again, which must be right within two seconds. */
const PONG_ON_RETURN_MS = 1_000;
/** How long a handshake, and then the server's first word, may take. */
const OPEN_MS = 5_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8_000;

export class Connection {
  readonly socket: SocketClient;
  private link: Exclude<ConnectionState, 'offline'> = 'connecting';
  /** Whether the last token was not taken. */
  private wasRefused = false;
  private open: WebSocket | null = null;
  /** When it was last begun to connect. */
  private began = 0;
  /** Pings that were not answered yet, and when the first of them must be. */
  private owed = 0;
  private deadline = 0;
  private silence: ReturnType<typeof setTimeout> | undefined;
  private readonly listeners = new Set<() => void>();
  private readonly stopListening: (() => void)[] = [];

  constructor(url: string, session: Session) {
    this.socket = createClient({
      url,
      // Open for as long as the viewer is there, whatever is watched: its state is what the page says of the connection.
      lazy: false,
      onNonLazyError: () => {},
      webSocketImpl: ImpatientSocket,
      connectionAckWaitTimeout: OPEN_MS,
      connectionParams: async () => {
        const token = await session.token();
        return token === null ? undefined : { token };
      },
      keepAlive: KEEP_ALIVE_MS,
      retryAttempts: Number.POSITIVE_INFINITY,
      retryWait: (retries) => pause(backoff(retries + 1, FIRST_PAUSE_MS, LONGEST_PAUSE_MS)),
      shouldRetry: () => true,
      on: {
        connecting: (isRetry) => {
          this.began = performance.now();
          this.move(isRetry && this.link === 'live' ? 'reconnecting' : this.link);
        },
        connected: (socket) => {
          this.open = socket as WebSocket;
          this.wasRefused = false;
          this.move('live');
        },
        ping: (received) => {
          if (!received) this.expectPong(PONG_MS);
        },
        pong: (received) => {
          // One for each ping: an older ping's answer says nothing of the server now.
          if (received && this.owed > 0 && --this.owed === 0) clearTimeout(this.silence);
        },
        closed: (event) => {
          clearTimeout(this.silence);
          this.owed = 0;
          this.open = null;
          // The token has ended, or the server's demo began anew: a new one is worth a try.
          const isRefused = (event as CloseEvent).code === 4403;
          if (isRefused) session.refused();
          if (isRefused && this.wasRefused) this.move('refused');
          else if (this.link !== 'connecting') this.move('reconnecting');
          this.wasRefused = isRefused;
        },
      },
    });
    this.stopListening.push(
      // A page that was asleep cannot trust its socket.
      onReturn(() => this.check()),
      heard('online', () => this.tell()),
      heard('offline', () => this.tell()),
    );
  }

  state(): ConnectionState {
    return navigator.onLine ? this.link : 'offline';
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  close(): void {
    for (const stop of this.stopListening) stop();
    clearTimeout(this.silence);
    // It waits for a connection that is being made, and fails with it.
    Promise.resolve(this.socket.dispose()).catch(() => {});
  }

  private check(): void {
    if (this.open?.readyState === WebSocket.OPEN) {
      this.open.send(JSON.stringify({ type: 'ping' }));
      this.expectPong(PONG_ON_RETURN_MS);
    } else if (performance.now() - this.began > PONG_ON_RETURN_MS) {
      this.socket.terminate();
    }
  }

  private expectPong(within: number): void {
    const deadline = performance.now() + within;
    this.owed += 1;
    if (this.owed > 1 && this.deadline <= deadline) return;
    this.deadline = deadline;
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.socket.terminate(), within);
  }

  private move(link: Connection['link']): void {
    this.link = link;
    this.tell();
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}

/** Browsers wait for minutes for a handshake that is never answered. */
class ImpatientSocket extends WebSocket {
  constructor(url: string | URL, protocols?: string | string[]) {
    super(url, protocols);
    const impatience = setTimeout(() => this.close(), OPEN_MS);
    this.addEventListener('open', () => clearTimeout(impatience));
    this.addEventListener('close', () => clearTimeout(impatience));
  }
}

export function useConnection(connection: Connection): ConnectionState {
  return useSyncExternalStore(
    (changed) => connection.subscribe(changed),
    () => connection.state(),
  );
}

function heard(name: 'online' | 'offline', listener: () => void): () => void {
  addEventListener(name, listener);
  return () => removeEventListener(name, listener);
}
