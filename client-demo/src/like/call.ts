// One tap's call: the same request with the same key until it is answered, refused or given up.

import { type Client, CombinedError } from '@urql/core';
import { filter, pipe, subscribe, take } from 'wonka';

import { LikeDocument, type LikeMutation, UnlikeDocument, type UnlikeMutation } from '../graphql/generated';
import { backoff, pause, rest } from './pause';

/** What the viewer wants of an item, by one tap. */
export interface Wish {
  readonly liked: boolean;
  /** The idempotency key: the tap's own, the same in all its tries. */
  readonly key: string;
  /** The version of the heart that was known when it was first sent; null before: from then on the server may have it. */
  sentAt: number | null;
}

export type Outcome =
  | { readonly is: 'answered' }
  /** The server said no: nothing was changed. */
  | { readonly is: 'refused'; readonly code: string }
  /** Something broke after the request had arrived: it may or may not have been carried out, and will not be any more. */
  | { readonly is: 'unclear'; readonly code: string }
  /** No answer came: whether something was changed, or still will be, is not known. */
  | { readonly is: 'given-up' }
  /** The viewer wants something else by now, and this was never sent. */
  | { readonly is: 'superseded' };

export interface Call {
  readonly client: Client;
  readonly itemId: string;
  readonly wish: Wish;
  /** The version of the heart as it is known now. */
  readonly heartVersion: () => number;
  /** Whether this is still the last wish. */
  readonly isWanted: () => boolean;
  /** Whether a push or a read has shown that the wish was carried out. */
  readonly stands: () => boolean;
  /** Told when the network is away, and when it is back. */
  readonly onWaiting: (offline: boolean) => void;
}

/** Codes with which the server says that it has changed nothing. */
const REFUSALS = [
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'BAD_USER_INPUT',
  'ITEM_NOT_FOUND',
  'ITEM_CLOSED',
  'IDEMPOTENCY_KEY_REUSED',
  'LIMIT_EXCEEDED',
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
];
/** How long one try may take. */
const TRY_MS = 4_000;
/** The last try begins no later. The time spent offline does not count. */
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
 * request may still arrive, and would then arrive after it.
 */
export async function send(call: Call): Promise<Outcome> {
  const { wish } = call;
  let patience = PATIENCE_MS;
  for (let attempt = 1; ; attempt++) {
    if (!navigator.onLine) {
      call.onWaiting(true);
      await online();
      call.onWaiting(false);
      patience = PATIENCE_MS;
    }
    if (wish.sentAt === null && !call.isWanted()) return { is: 'superseded' };

    const began = performance.now();
    wish.sentAt ??= call.heartVersion();
    const error = await once(call.client, call.itemId, wish);
    if (error === null || call.stands()) return { is: 'answered' };
    const { code, retryable, askedMs } = readError(error);
    if (!retryable) return { is: REFUSALS.includes(code) ? 'refused' : 'unclear', code };
    if (!navigator.onLine) continue;

    patience -= performance.now() - began;
    if (patience <= 0) return { is: 'given-up' };
    // However long the server asks to be left alone, there is a last try when patience ends.
    const wait = Math.min(Math.max(backoff(attempt, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), askedMs), patience);
    const paused = performance.now();
    await (askedMs > 0 ? rest(wait) : pause(wait));
    patience -= performance.now() - paused;
    if (call.stands()) return { is: 'answered' };
  }
}

/**
 * One try. Null where it was answered with the item. A try that took too long is no longer waited for; its request goes on
 * until the client's `fetch` ends it, since a mutation cannot be taken back.
 */
export function once(client: Client, itemId: string, wish: Wish): Promise<CombinedError | null> {
  return new Promise((resolve) => {
    const silence = setTimeout(() => {
      request.unsubscribe();
      resolve(noAnswer('no answer in time'));
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
      subscribe(({ data, error }) => {
        clearTimeout(silence);
        const payload: Payload | undefined = data ? Object.values(data)[0] : undefined;
        const isAnswer = payload?.item?.id === itemId && payload.item.myReactionVersion != null;
        resolve(isAnswer ? null : (error ?? noAnswer('an answer without the item')));
      }),
    );
  });
}

type Payload = LikeMutation['like'] | UnlikeMutation['unlike'];

function noAnswer(text: string): CombinedError {
  return new CombinedError({ networkError: new Error(text) });
}

function online(): Promise<void> {
  return new Promise((resolve) => addEventListener('online', () => resolve(), { once: true }));
}

/**
 * What the server says of an error. One without a code, or without a word on whether it may be sent again, came from something
 * in between, and is worth a retry.
 */
function readError(error: CombinedError): { code: string; retryable: boolean; askedMs: number } {
  const extensions = error.graphQLErrors[0]?.extensions;
  const { code, retryable, retryAfterMs } = extensions ?? {};
  const askedMs = Math.max(typeof retryAfterMs === 'number' ? retryAfterMs : 0, retryAfter(error));
  if (typeof code !== 'string' || typeof retryable !== 'boolean') return { code: 'NETWORK', retryable: true, askedMs };
  return { code, retryable, askedMs };
}

/** How long a proxy asks to be left alone: `Retry-After`, in seconds or until a date. */
function retryAfter({ response }: CombinedError): number {
  const asked = response instanceof Response ? (response.headers.get('retry-after') ?? '') : '';
  const milliseconds = /^\d+$/.test(asked) ? Number(asked) * 1_000 : Date.parse(asked) - Date.now();
  return Math.max(milliseconds || 0, 0);
}
