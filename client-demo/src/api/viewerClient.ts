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
  readonly askToSignIn?: (itemId: string) => void;
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

/** The clients of signed-in viewers, by user. */
const shared = new Map<string, { readonly viewer: ViewerClient; users: number }>();

/**
 * A viewer's client. There is one for each person on a page: their wishes stay in one order, in whichever pane they tap, and
 * also when somebody else was looked at in between.
 */
export function createViewerClient(options: ViewerOptions): ViewerClient {
  const { user } = options;
  if (user === null) return newViewerClient(options);
  let entry = shared.get(user);
  if (entry === undefined) {
    entry = { viewer: newViewerClient(options), users: 0 };
    shared.set(user, entry);
  }
  const { viewer } = entry;
  const taken = entry;
  taken.users += 1;
  let isReleased = false;
  const release = async () => {
    if (isReleased) return;
    isReleased = true;
    taken.users -= 1;
    // What the viewer wanted is sent before the client ends.
    await viewer.likes.idle();
    if (taken.users > 0 || shared.get(user) !== taken) return;
    shared.delete(user);
    viewer.close();
  };
  return { ...viewer, close: () => void release() };
}

function newViewerClient({ user, askToSignIn }: ViewerOptions): ViewerClient {
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
