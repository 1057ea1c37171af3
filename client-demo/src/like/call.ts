// One tap's call: the same request with the same key until it is answered, refused or given up.

import { type Client, CombinedError } from '@urql/core';
import { filter, pipe, subscribe, take } from 'wonka';

import { LikeDocument, UnlikeDocument } from '../graphql/generated';
import { backoff, pause } from './pause';

/** What the viewer wants of an item, by one tap. */
export interface Wish {
  readonly liked: boolean;
  /** The idempotency key: the tap's own, the same in all its tries. */
  readonly key: string;
  /** When it was first sent: from then on the server may have it. */
  sentAt: number | null;
}

export type Outcome =
  | { readonly is: 'answered' }
  /** The server said no: nothing was changed. */
  | { readonly is: 'refused'; readonly code: string }
  /** No answer came: whether something was changed is not known. */
  | { readonly is: 'given-up' }
  /** The viewer wants something else by now, and this was never sent. */
  | { readonly is: 'superseded' };

/** How long one try may take. */
const TRY_MS = 4_000;
/** No further try begins after this. The time spent offline does not count. */
const PATIENCE_MS = 10_000;
const FIRST_PAUSE_MS = 300;
const LONGEST_PAUSE_MS = 4_000;

export function newWish(liked: boolean): Wish {
  // `crypto.randomUUID` exists on https and localhost only.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return { liked, key: Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(''), sentAt: null };
}

/**
 * Sends a wish until its outcome is known, as far as that can be had. A wish that was sent is never left for the next one: its
 * request may still arrive, and would then arrive after it. `waiting` is told when the network is away and when it is back;
 * `wanted` says whether this is still the last wish.
 */
export async function send(
  client: Client,
  itemId: string,
  wish: Wish,
  wanted: () => boolean,
  waiting: (offline: boolean) => void,
): Promise<Outcome> {
  let patience = PATIENCE_MS;
  for (let attempt = 1; ; attempt++) {
    if (!navigator.onLine) {
      waiting(true);
      await online();
      waiting(false);
      patience = PATIENCE_MS;
    }
    if (wish.sentAt === null && !wanted()) return { is: 'superseded' };

    const began = performance.now();
    wish.sentAt ??= began;
    const error = await once(client, itemId, wish);
    if (error === null) return { is: 'answered' };
    const { code, retryable, retryAfterMs } = readError(error);
    if (!retryable) return { is: 'refused', code };
    if (!navigator.onLine) continue;

    const wait = Math.max(backoff(attempt, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), retryAfterMs);
    patience -= performance.now() - began + wait;
    if (patience <= 0) return { is: 'given-up' };
    await pause(wait);
  }
}

/**
 * One try. Null where it was answered with data. A try that took too long is no longer waited for; its request goes on until
 * the client's `fetch` ends it, since a mutation cannot be taken back.
 */
function once(client: Client, itemId: string, wish: Wish): Promise<CombinedError | null> {
  return new Promise((resolve) => {
    const silence = setTimeout(() => {
      request.unsubscribe();
      resolve(new CombinedError({ networkError: new Error('no answer in time') }));
    }, TRY_MS);
    const request = pipe(
      client.mutation(
        wish.liked ? LikeDocument : UnlikeDocument,
        { itemId, idempotencyKey: wish.key },
        // A page that is left lets the request go on.
        { fetchOptions: { keepalive: true } },
      ),
      filter((result) => !result.stale),
      take(1),
      subscribe((result) => {
        clearTimeout(silence);
        const payload = result.data && Object.values(result.data)[0];
        // With a payload the tap is stored; an error beside it is about reading the item, and worth a retry at most.
        const stored = payload != null && result.error !== undefined && !readError(result.error).retryable;
        resolve(stored ? null : (result.error ?? null));
      }),
    );
  });
}

function online(): Promise<void> {
  return new Promise((resolve) => addEventListener('online', () => resolve(), { once: true }));
}

/** What the server says of an error; one that never reached it, or came from something in between, is worth a retry. */
function readError(error: CombinedError): { code: string; retryable: boolean; retryAfterMs: number } {
  const extensions = error.graphQLErrors[0]?.extensions;
  if (extensions === undefined) return { code: 'NETWORK', retryable: true, retryAfterMs: 0 };
  const { code, retryable, retryAfterMs } = extensions;
  return {
    code: typeof code === 'string' ? code : 'UNKNOWN',
    retryable: retryable === true,
    retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : 0,
  };
}
