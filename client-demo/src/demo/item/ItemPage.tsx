import { LikeButton } from '../../like/LikeButton';
import { Art } from '../art/Art';
import { BurstPanel } from '../burst/BurstPanel';
import { canBeItem, itemOf } from '../catalogue';
import { LikeLine } from '../feed/LikeLine';
import { LikeProblem } from '../feed/LikeProblem';
import { MayLag } from '../feed/MayLag';
import { Likers } from '../list/Likers';
import { usePane } from '../pane/PaneContext';
import { feed } from '../route';
import { CountedUpTo } from './CountedUpTo';
import { Plots } from './Plots';

/** One item, and all that happens to its likes. */
export function ItemPage({ id }: { id: string }) {
  const { href } = usePane();
  return (
    <div className="view item-view">
      <a className="back" href={href(feed)}>
        <svg
          viewBox="0 0 20 20"
          width="16"
          height="16"
          aria-hidden="true"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.8"
        >
          <path d="M12 4l-6 6 6 6" />
        </svg>
        All items
      </a>
      {canBeItem(id) ? <Item id={id} /> : <NoItem />}
    </div>
  );
}

/** Where an address names what the server would never take for an item. */
function NoItem() {
  return (
    <section className="panel">
      <h2 tabIndex={-1}>There is no such item</h2>
      <p className="muted">An item’s id has 1 to 255 characters, all of them printable ASCII and none a space.</p>
    </section>
  );
}

function Item({ id }: { id: string }) {
  const { type, title, text } = itemOf(id);
  return (
    <>
      <article className="item" data-item={id}>
        <Art id={id} type={type} />
        <div className="item-text">
          <h2 tabIndex={-1}>{title}</h2>
          <p>{text}</p>
          <div className="like-row">
            <LikeButton itemId={id} label={title} />
            <LikeLine itemId={id} />
          </div>
          <LikeProblem itemId={id} title={title} />
          <div className="counted-row">
            <CountedUpTo itemId={id} />
            <MayLag itemId={id} />
          </div>
        </div>
      </article>
      <BurstPanel itemId={id} />
      <Plots itemId={id} />
      <Likers itemId={id} />
    </>
  );
}
