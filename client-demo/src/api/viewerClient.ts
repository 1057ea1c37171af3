// Everything a viewer's page talks to the server with: one client, one normalised cache, one socket.
//
// Each viewer has their own: what belongs to one viewer cannot be shown to another.

import { type Client, createClient, type ExecutionResult, fetchExchange, subscriptionExchange } from '@urql/core';
import { cacheExchange, type KeyGenerator } from '@urql/exchange-graphcache';

import { Likes } from '../like/likes';
import { Connection } from './connection';
import { authorised, Session } from './session';

export interface ViewerClient {
  readonly client: Client;
  readonly likes: Likes;
  readonly connection: Connection;
  close(): void;
}

export interface ViewerOptions {
  /** Null for somebody who is not signed in. */
  readonly user: string | null;
  /** Called when somebody taps a heart who is not signed in. */
  readonly askToSignIn?: () => void;
}

/** Items and users are kept once, by type and id; everything else belongs to what it stands in. */
const embedded: KeyGenerator = () => null;
const keys = {
  Viewer: embedded,
  FriendLikers: embedded,
  LikerConnection: embedded,
  LikerEdge: embedded,
  LikedItemConnection: embedded,
  LikedItemEdge: embedded,
  PageInfo: embedded,
  ReactionPayload: embedded,
};

/** No request is waited for longer. */
const REQUEST_MS = 10_000;

export function createViewerClient({ user, askToSignIn }: ViewerOptions): ViewerClient {
  const session = new Session(user);
  const likes = new Likes({ signedIn: user !== null, ...(askToSignIn && { askToSignIn }) });
  const connection = new Connection(`${location.origin.replace(/^http/, 'ws')}/graphql`, session);
  const client = createClient({
    url: '/graphql',
    preferGetMethod: false,
    fetch: bounded(authorised(session)),
    exchanges: [
      cacheExchange({ keys }),
      likes.exchange,
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: ({ query, variables }) => ({
          subscribe: (sink) => ({
            unsubscribe: connection.socket.subscribe(
              { query: query ?? '', variables: variables ?? {} },
              { ...sink, next: (result) => sink.next(result as ExecutionResult) },
            ),
          }),
        }),
      }),
    ],
  });
  return {
    client,
    likes,
    connection,
    close() {
      likes.close();
      connection.close();
    },
  };
}

function bounded(fetcher: typeof fetch): typeof fetch {
  return (input, init) => {
    const signals = [AbortSignal.timeout(REQUEST_MS), ...(init?.signal ? [init.signal] : [])];
    return fetcher(input, { ...init, signal: AbortSignal.any(signals) });
  };
}
