import { memo } from 'react';

import { LikeButton } from '../../like/LikeButton';
import { Art } from '../art/Art';
import type { CatalogueItem } from '../catalogue';
import { usePane } from '../pane/PaneContext';
import { LikeLine } from './LikeLine';
import { LikeProblem } from './LikeProblem';
import { MayLag } from './MayLag';

/** An item in a list. Each part that changes with a like listens by itself, so that the card is drawn once. */
export const Card = memo(function Card({ item }: { item: CatalogueItem }) {
  const { href } = usePane();
  const { id, type, title, text } = item;
  return (
    <article className="card" data-item={id}>
      <Art id={id} type={type} />
      <div className="card-text">
        <h3>
          <a href={href({ kind: 'item', id })}>{title}</a>
        </h3>
        <p className="muted">{text}</p>
      </div>
      <div className="like-row">
        <LikeButton itemId={id} label={title} />
        <LikeLine itemId={id} />
        <MayLag itemId={id} />
      </div>
      <LikeProblem itemId={id} title={title} />
    </article>
  );
});
