import { useLike } from '../../like/useLike';
import { viewerName } from '../catalogue';
import { Face } from '../pane/Face';
import { usePane } from '../pane/PaneContext';
import { likeLine } from './likeLine';

/** Who likes an item, as the pane's viewer sees it. */
export function LikeLine({ itemId }: { itemId: string }) {
  const { viewer } = usePane();
  const { liked, count, friends, othersCount } = useLike(itemId);
  const line = likeLine({ signedIn: viewer !== null, liked, count, friends, othersCount });
  const faces = [...(liked && viewer !== null ? [{ id: viewer, name: viewerName(viewer) }] : []), ...friends];
  return (
    <p className="like-line">
      {faces.length > 0 && (
        <span className="faces">
          {faces.map(({ id, name }) => (
            <Face key={id} id={id} name={name} />
          ))}
        </span>
      )}
      <span data-like-line>
        {line.map((part) => (typeof part === 'string' ? part : <bdi key={part.name}>{part.name}</bdi>))}
      </span>
    </p>
  );
}
