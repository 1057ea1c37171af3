import { useCallback, useRef, useState } from 'react';
import { useClient } from 'urql';

import { LikersDocument } from '../../graphql/generated';
import { useLikes } from '../../like/LikesContext';
import { useLike } from '../../like/useLike';
import { seen } from '../names';
import { Face } from '../pane/Face';
import { usePane } from '../pane/PaneContext';
import { ago } from './ago';
import { ListEnd } from './ListEnd';
import { problemOf, Refusal } from './problem';
import { toTop } from './toTop';
import { useEndless } from './useEndless';

const PAGE = 20;

/** Who likes an item, newest first, as far as one scrolls. */
export function Likers({ itemId }: { itemId: string }) {
  const client = useClient();
  const { viewer } = usePane();
  const likes = useLikes();
  const { count } = useLike(itemId);
  /** The count when the list was last read from the top. */
  const [countThen, setCountThen] = useState<number | null>(null);

  const load = useCallback(
    async (after: string | null) => {
      const variables = { itemId, first: PAGE, after };
      const { data, error } = await client.query(LikersDocument, variables, { requestPolicy: 'network-only' });
      if (data?.item === null && error === undefined) throw new Refusal('The server knows no such item.');
      if (!data?.item?.likers) throw problemOf(error);
      const { edges, pageInfo } = data.item.likers;
      if (after === null) setCountThen(likes.state(itemId).count);
      return { rows: edges, next: pageInfo.hasNextPage ? pageInfo.endCursor : null };
    },
    [client, likes, itemId],
  );
  const list = useEndless(load);
  const isRead = list.phase !== 'loading' && list.phase !== 'failed';
  const top = useRef<HTMLHeadingElement>(null);
  const showNewest = () => {
    toTop(top.current);
    void list.restart();
  };

  return (
    <section className="panel likers">
      <div className="panel-head">
        <h3 tabIndex={-1} ref={top}>
          Who likes it
        </h3>
        {countThen !== null && count !== countThen && isRead && (
          <button type="button" className="button quiet" onClick={showNewest}>
            Show the newest
          </button>
        )}
      </div>
      <ul className="people">
        {list.rows.map(({ cursor, likedAt, node }) => (
          <li key={cursor}>
            <Face id={node.id} name={node.name} />
            <bdi className="person">{node.id === viewer ? 'You' : (seen(node.name) ?? 'A guest')}</bdi>
            <time className="muted" dateTime={likedAt} title={new Date(likedAt).toLocaleString('en-GB')}>
              {ago(Date.parse(likedAt), Date.now())}
            </time>
          </li>
        ))}
      </ul>
      <ListEnd list={list} empty="Nobody yet." />
    </section>
  );
}
