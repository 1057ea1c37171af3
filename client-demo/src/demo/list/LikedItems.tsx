import { useCallback, useRef } from 'react';
import { useClient } from 'urql';

import { MyLikedItemsDocument } from '../../graphql/generated';
import { itemOf } from '../catalogue';
import { Card } from '../feed/Card';
import { usePane } from '../pane/PaneContext';
import { ListEnd } from './ListEnd';
import { problemOf } from './problem';
import { toTop } from './toTop';
import { useEndless } from './useEndless';
import { useNewestLiked } from './useNewestLiked';

const PAGE = 20;

/** What the viewer likes, newest first. What is unliked here stays until the list is read again, to be liked anew. */
export function LikedItems() {
  const { viewer, askToSignIn } = usePane();
  if (viewer !== null) return <LikedCards />;
  return (
    <div className="view">
      <h2 tabIndex={-1}>My likes</h2>
      <p className="empty">
        Nobody is signed in.{' '}
        <button type="button" className="link" onClick={() => askToSignIn()}>
          Choose a person
        </button>
      </p>
    </div>
  );
}

function LikedCards() {
  const client = useClient();
  const load = useCallback(
    async (after: string | null) => {
      const variables = { first: PAGE, after };
      const { data, error } = await client.query(MyLikedItemsDocument, variables, { requestPolicy: 'network-only' });
      if (!data?.viewer?.likedItems) throw problemOf(error);
      const { edges, pageInfo } = data.viewer.likedItems;
      const rows = edges.map(({ cursor, node }) => ({ cursor, item: itemOf(node.id) }));
      return { rows, next: pageInfo.hasNextPage ? pageInfo.endCursor : null };
    },
    [client],
  );
  const list = useEndless(load);
  const newest = useNewestLiked();
  const isRead = list.phase !== 'loading' && list.phase !== 'failed';
  const lacksNewest = isRead && newest !== null && !list.rows.some(({ item }) => item.id === newest);
  const top = useRef<HTMLHeadingElement>(null);
  const showNewest = () => {
    toTop(top.current);
    void list.restart();
  };
  return (
    <div className="view">
      <div className="panel-head">
        <h2 tabIndex={-1} ref={top}>
          My likes
        </h2>
        {lacksNewest && (
          <button type="button" className="button quiet" onClick={showNewest}>
            Show the newest
          </button>
        )}
      </div>
      <ul className="cards">
        {list.rows.map(({ cursor, item }) => (
          <li key={cursor}>
            <Card item={item} />
          </li>
        ))}
      </ul>
      <ListEnd list={list} empty="Nothing yet. Tap a heart in the feed." />
    </div>
  );
}
