import { useEffect, useId, useRef } from 'react';

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

/** A like is somebody's: asks who. */
export function SignInDialog({ asking, onChoose, onClose }: Props) {
  const open = asking !== null;
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();

  useEffect(() => {
    const dialog = ref.current;
    if (open && !dialog?.open) dialog?.showModal();
    if (!open) dialog?.close();
  }, [open]);

  return (
    <dialog ref={ref} className="sign-in" closedby="any" aria-labelledby={titleId} onClose={onClose}>
      <h2 id={titleId}>Sign in{asking?.itemId !== undefined && ` to like ${itemOf(asking.itemId).title}`}</h2>
      <p className="muted">This is a demo: choose who you are.</p>
      <ul>
        {people.map((person) => (
          <li key={person.id}>
            <button type="button" className="button" onClick={() => onChoose(person.id)}>
              <Face id={person.id} name={person.name} />
              {person.name}
            </button>
          </li>
        ))}
      </ul>
      <button type="button" className="button quiet" onClick={onClose}>
        Not now
      </button>
    </dialog>
  );
}
