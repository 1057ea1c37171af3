import { useCallback, useSyncExternalStore } from 'react';
import { useQuery } from 'urql';

import { FeedDocument } from '../../graphql/generated';
import { useLikes } from '../../like/LikesContext';
import { items } from '../catalogue';
import { Card } from './Card';

const ids = items.map((item) => item.id);

/** All there is to like. The cards stand at once; one query fills their hearts, and pushes keep them. */
export function Feed() {
  const [{ error, fetching }, read] = useQuery({ query: FeedDocument, variables: { ids } });
  const known = useAllKnown();
  return (
    <div className="view">
      <h2 className="visually-hidden" tabIndex={-1}>
        Feed
      </h2>
      {error && !fetching && !known && (
        <p className="notice">
          The likes could not be read.{' '}
          <button type="button" className="link" onClick={() => read({ requestPolicy: 'network-only' })}>
            Try again
          </button>
        </p>
      )}
      <ul className="cards">
        {items.map((item) => (
          <li key={item.id}>
            <Card item={item} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Whether every heart is known: buttons read theirs by themselves as well, so that a query that failed may not matter. */
function useAllKnown(): boolean {
  const likes = useLikes();
  const subscribe = useCallback(
    (changed: () => void) => {
      const ends = ids.map((id) => likes.subscribe(id, changed));
      return () => {
        for (const end of ends) end();
      };
    },
    [likes],
  );
  return useSyncExternalStore(subscribe, () => ids.every((id) => likes.state(id).count !== null));
}
