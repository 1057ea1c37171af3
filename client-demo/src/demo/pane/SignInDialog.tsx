import { useEffect, useId, useRef, useState } from 'react';

import { itemOf, people } from '../catalogue';
import { Face } from './Face';

/** What somebody is asked to sign in for: to like an item, or to see what is theirs. */
export interface Asking {
  readonly itemId: string | undefined;
}

interface Props {
  /** Null: nobody is asked. */
  asking: Asking | null;
  onChoose: (viewer: string) => void;
  onClose: () => void;
}

/** How long the second tap of a double tap, which was meant for the heart, may fall on the dialog. */
const UNSTEADY_MS = 500;

/** A like is somebody's: asks who. */
export function SignInDialog({ asking, onChoose, onClose }: Props) {
  const open = asking !== null;
  const [isSteady, setSteady] = useState(false);
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();

  useEffect(() => {
    if (!open) {
      ref.current?.close();
      return;
    }
    ref.current?.showModal();
    const timer = setTimeout(() => setSteady(true), UNSTEADY_MS);
    return () => {
      clearTimeout(timer);
      setSteady(false);
    };
  }, [open]);

  return (
    <dialog
      ref={ref}
      className="sign-in"
      closedby={isSteady ? 'any' : 'closerequest'}
      aria-labelledby={titleId}
      onClose={onClose}
      // The key that opened it may still be held down.
      onKeyDown={(event) => event.repeat && event.key === 'Enter' && event.preventDefault()}
    >
      <h2 id={titleId}>Sign in{asking?.itemId !== undefined && ` to like ${itemOf(asking.itemId).title}`}</h2>
      <p className="muted">This is a demo: choose who you are.</p>
      <ul>
        {people.map((person) => (
          <li key={person.id}>
            <button
              type="button"
              className="button"
              aria-disabled={!isSteady}
              onClick={() => isSteady && onChoose(person.id)}
            >
              <Face id={person.id} name={person.name} />
              {person.name}
            </button>
          </li>
        ))}
      </ul>
      <button type="button" className="button quiet" aria-disabled={!isSteady} onClick={() => isSteady && onClose()}>
        Not now
      </button>
    </dialog>
  );
}
