import type { Client } from '@urql/core';
import { Provider } from 'urql';
import { LikesProvider } from './LikesContext';
import type { Likes } from './likes';
import { useLike } from './useLike';

function Heart({ itemId }: { itemId: string }) {
  const { liked, count, phase, problem, tap } = useLike(itemId);
  return (
    <>
      <button type="button" aria-pressed={liked} aria-disabled={phase === 'loading'} onClick={tap}>
        {liked ? '♥' : '♡'} {count ?? '–'}
      </button>
      {phase === 'waiting' && <small>You are offline: sent later.</small>}
      {problem && <small role="status">{problem}</small>}
    </>
  );
}

export function App({ client, likes }: { client: Client; likes: Likes }) {
  return (
    <Provider value={client}>
      <LikesProvider likes={likes}>
        <Heart itemId="photo:sunrise" />
      </LikesProvider>
    </Provider>
  );
}
