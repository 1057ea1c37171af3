import { useEffect, useId, useRef } from 'react';

import { people } from '../catalogue';
import { Face } from './Face';

interface Props {
  open: boolean;
  onChoose: (viewer: string) => void;
  onClose: () => void;
}

/** A like is somebody's: asks who. */
export function SignInDialog({ open, onChoose, onClose }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();

  useEffect(() => {
    const dialog = ref.current;
    if (open && !dialog?.open) dialog?.showModal();
    if (!open) dialog?.close();
  }, [open]);

  return (
    <dialog ref={ref} className="sign-in" aria-labelledby={titleId} onClose={onClose}>
      <h2 id={titleId}>Sign in to like</h2>
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
