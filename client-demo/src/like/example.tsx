import { useLike } from './useLike';

export function Heart({ itemId }: { itemId: string }) {
  const { liked, count, phase, problem, tap } = useLike(itemId);
  return (
    <>
      <button type="button" aria-pressed={liked} onClick={tap}>
        {liked ? '♥' : '♡'} {count ?? '–'}
      </button>
      {phase === 'waiting' && <small>You are offline: sent later.</small>}
      {problem && <small role="status">{problem}</small>}
    </>
  );
}
