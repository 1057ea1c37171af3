// For tests: a client whose server is the test itself, which answers when and what it likes.

import {
  type Client,
  CombinedError,
  createClient,
  type Exchange,
  type Operation,
  type OperationResult,
} from '@urql/core';
import { GraphQLError, Kind } from 'graphql';
import { filter, makeSubject, merge, mergeMap, pipe, takeUntil } from 'wonka';

import { Likes, type LikesOptions } from './likes';
import type { ItemLikes } from './newest';

/** A request that waits for its answer. */
export interface Asked {
  readonly name: string;
  readonly kind: Operation['kind'];
  readonly variables: { readonly itemId: string; readonly idempotencyKey: string; readonly ids: string[] };
  /** Whether the client still waits. */
  readonly waits: () => boolean;
  answer(data: unknown): void;
  refuse(code: string, extensions?: object): void;
  loseConnection(): void;
}

export interface FakeServer {
  readonly client: Client;
  readonly likes: Likes;
  /** All requests so far, in their order. */
  readonly asked: Asked[];
  mutations(): Asked[];
  /** Sends an event to every subscription that is open. */
  push(item: ItemLikes): void;
}

export function item(fields: Partial<ItemLikes> = {}): ItemLikes {
  const likeCount = fields.likeCount ?? 10;
  return {
    __typename: 'Item',
    id: 'post:1',
    likeCount,
    countVersion: 100,
    countAsOf: '2030-01-01T00:00:00.000Z',
    countFreshness: 'LIVE',
    likedByMe: false,
    myReactionVersion: 0,
    friendLikers: { __typename: 'FriendLikers', users: [], othersCount: likeCount, complete: true },
    ...fields,
  } as ItemLikes;
}

export function fakeServer(options: LikesOptions = { signedIn: true }): FakeServer {
  const asked: Asked[] = [];
  const likes = new Likes(options);
  const server: Exchange = () => (operations) =>
    pipe(
      operations,
      filter((operation) => operation.kind !== 'teardown'),
      mergeMap((operation) => {
        const answers = makeSubject<OperationResult>();
        const ended = pipe(
          operations,
          filter((other) => other.kind === 'teardown' && other.key === operation.key),
        );
        const request = ask(operation, answers.next);
        asked.push(request.asked);
        return pipe(
          merge([answers.source]),
          takeUntil(
            pipe(
              ended,
              filter(() => request.end()),
            ),
          ),
        );
      }),
    );
  return {
    client: createClient({ url: '/graphql', preferGetMethod: false, exchanges: [likes.exchange, server] }),
    likes,
    asked,
    mutations: () => asked.filter(({ kind }) => kind === 'mutation'),
    push(pushed) {
      for (const { kind, waits, answer } of asked) {
        if (kind === 'subscription' && waits()) answer({ itemUpdated: pushed });
      }
    },
  };
}

function ask(operation: Operation, send: (result: OperationResult) => void) {
  let waits = true;
  const result = (fields: { data?: unknown; error?: CombinedError }) => {
    if (!waits) return;
    if (operation.kind !== 'subscription') waits = false;
    send({ operation, stale: false, hasNext: operation.kind === 'subscription', ...fields } as OperationResult);
  };
  const definition = operation.query.definitions.find((part) => part.kind === Kind.OPERATION_DEFINITION);
  const asked: Asked = {
    name: definition?.name?.value ?? '',
    kind: operation.kind,
    variables: operation.variables as Asked['variables'],
    waits: () => waits,
    answer: (data) => result({ data }),
    refuse(code, extensions = {}) {
      const error = new GraphQLError('refused', { extensions: { code, retryable: false, ...extensions } });
      result({ error: new CombinedError({ graphQLErrors: [error] }) });
    },
    loseConnection: () => result({ error: new CombinedError({ networkError: new TypeError('Failed to fetch') }) }),
  };
  const end = () => {
    waits = false;
    return true;
  };
  return { asked, end };
}
