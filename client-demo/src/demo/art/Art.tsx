import { memo } from 'react';

import { Board } from './Board';
import { Landscape } from './Landscape';
import { Tiles } from './Tiles';

/** A picture for an item, drawn from its type and id alone. It says nothing that the title does not. */
export const Art = memo(function Art({ id, type }: { id: string; type: string }) {
  return (
    <svg
      className="art"
      viewBox="0 0 400 250"
      preserveAspectRatio="xMidYMid slice"
      aria-hidden="true"
      focusable="false"
    >
      {type === 'photo' ? <Landscape id={id} /> : type === 'game' ? <Board id={id} /> : <Tiles id={id} />}
    </svg>
  );
});
