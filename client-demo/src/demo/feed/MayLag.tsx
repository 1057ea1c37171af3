import { useConnection } from '../../api/connection';
import { useLike } from '../../like/useLike';
import { usePane } from '../pane/PaneContext';
import { useLasting } from '../pane/useLasting';

/** How long a first connection may take. */
const CONNECTING_MS = 3_000;

/** Says so where a count may be behind: the server says it is stale, or no push can arrive. */
export function MayLag({ itemId }: { itemId: string }) {
  const { stale, count } = useLike(itemId);
  const { connection } = usePane();
  const state = useConnection(connection);
  const hangs = useLasting(state === 'connecting', CONNECTING_MS);
  const lost = ['offline', 'reconnecting', 'refused'].includes(state) || hangs;
  if (count === null || !(stale || lost)) return null;
  return (
    <span className="may-lag" title="The count may be behind what has happened">
      may lag
    </span>
  );
}
