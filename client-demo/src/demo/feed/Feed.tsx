import { useQuery } from 'urql';

import { FeedDocument } from '../../graphql/generated';
import { items } from '../catalogue';
import { Card } from './Card';

const ids = items.map((item) => item.id);

/** All there is to like. The cards stand at once; one query fills their hearts, and pushes keep them. */
export function Feed() {
  const [{ error, fetching }, read] = useQuery({ query: FeedDocument, variables: { ids } });
  return (
    <div className="view">
      <h2 className="visually-hidden" tabIndex={-1}>
        Feed
      </h2>
      {error && !fetching && (
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
