// A like button: a real button that is pressed or not, and its number beside it. The number stands outside the button, whose
// name would otherwise have to change with it, or to leave out what is seen on it.

import { useId } from 'react';

import { useLike } from './useLike';

const HEART = 'M12 20.6 4.5 13.2a5 5 0 0 1 0-7.1 5 5 0 0 1 7.1 0l.4.4.4-.4a5 5 0 0 1 7.1 0 5 5 0 0 1 0 7.1Z';

/** `label` names the item, as in “Like Chess”. */
export function LikeButton({ itemId, label }: { itemId: string; label: string }) {
  const { liked, count, phase, tap } = useLike(itemId);
  const numberId = useId();
  return (
    <span className="like">
      <button
        type="button"
        className="like-button"
        aria-pressed={liked}
        aria-disabled={phase === 'loading'}
        aria-label={`Like ${label}`}
        aria-describedby={numberId}
        data-phase={phase}
        onClick={tap}
        // A key that is held down is one tap.
        onKeyDown={(event) => event.repeat && event.key === 'Enter' && event.preventDefault()}
      >
        <svg className="like-heart" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">
          <path d={HEART} />
        </svg>
      </button>
      <span id={numberId} className="like-count" data-count>
        {count === null ? '–' : count.toLocaleString('en')}
      </span>
    </span>
  );
}
