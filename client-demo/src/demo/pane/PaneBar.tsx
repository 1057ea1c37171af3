import { useEffect, useId, useRef } from 'react';

import { people, viewerName } from '../catalogue';
import { CLOSE, Icon } from '../Icon';
import { feed, liked, type View } from '../route';
import { ConnectionBadge } from './ConnectionBadge';
import { Face } from './Face';
import { usePane } from './PaneContext';

interface Props {
  viewer: string | null;
  view: View;
  onSwitch: (viewer: string | null) => void;
  onClose?: () => void;
  onFocused?: () => void;
}

/** Who is looking, where they are, and whether what they see is live. */
export function PaneBar({ viewer, view, onSwitch, onClose, onFocused }: Props) {
  const { href } = usePane();
  const selectId = useId();
  const select = useRef<HTMLSelectElement>(null);
  useEffect(() => {
    if (!onFocused) return;
    select.current?.focus();
    onFocused();
  }, [onFocused]);

  return (
    <div className="pane-bar">
      <div className="viewer">
        <Face id={viewer ?? 'signed-out'} name={viewer === null ? null : viewerName(viewer)} />
        <label htmlFor={selectId} className="visually-hidden">
          Viewing as
        </label>
        <select
          ref={select}
          id={selectId}
          value={viewer ?? ''}
          onChange={(event) => onSwitch(event.target.value || null)}
        >
          {people.map((person) => (
            <option key={person.id} value={person.id}>
              {person.name}
            </option>
          ))}
          <option value="">Signed out</option>
        </select>
      </div>
      <nav aria-label={`Views of ${viewerName(viewer)}`}>
        <a href={href(feed)} aria-current={view.kind === 'feed' ? 'page' : undefined}>
          Feed
        </a>
        {viewer !== null && (
          <a href={href(liked)} aria-current={view.kind === 'liked' ? 'page' : undefined}>
            My likes
          </a>
        )}
      </nav>
      <ConnectionBadge />
      {onClose && (
        <button type="button" className="icon-button" aria-label="Close this pane" onClick={onClose}>
          <Icon path={CLOSE} />
        </button>
      )}
    </div>
  );
}
