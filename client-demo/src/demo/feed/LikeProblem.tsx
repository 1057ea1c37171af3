import { useEffect } from 'react';

import { useLikes } from '../../like/LikesContext';
import type { Likes } from '../../like/likes';
import { useLike } from '../../like/useLike';
import { CLOSE, Icon } from '../Icon';
import { usePane } from '../pane/PaneContext';

/** The last that each viewer's screen reader was told of an item: another view of it has nothing to add. */
const told = new WeakMap<Likes, Map<string, string>>();

/** What became of the viewer's own wish, where it is not simply done: undone and why, or waiting for the network. */
export function LikeProblem({ itemId, title }: { itemId: string; title: string }) {
  const { problem, phase, dismissProblem } = useLike(itemId);
  const { announce } = usePane();
  const waiting = phase === 'waiting' ? 'You are offline. This is sent as soon as you are back.' : null;
  const message = problem ?? waiting;

  const likes = useLikes();
  useEffect(() => {
    const known = told.get(likes) ?? new Map<string, string>();
    told.set(likes, known);
    if (message === null) known.delete(itemId);
    else if (known.get(itemId) !== message) {
      known.set(itemId, message);
      announce(`${title}: ${message}`);
    }
  }, [likes, itemId, message, title, announce]);

  if (!message) return null;
  return (
    <div className="notice" data-problem={problem === null ? 'waiting' : 'undone'}>
      <span>{message}</span>
      {problem !== null && (
        <button type="button" className="icon-button" aria-label="Dismiss" onClick={dismissProblem}>
          <Icon path={CLOSE} />
        </button>
      )}
    </div>
  );
}
