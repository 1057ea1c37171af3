import { hash } from '../art/seed';
import { initial, seen } from '../names';

/** A person as a coloured initial, a guest as an outline. It stands beside the name, or beside a line that has it. */
export function Face({ id, name }: { id: string; name: string | null }) {
  const known = seen(name);
  return (
    <span className="face" data-hue={known === null ? 'none' : hash(id) % 6} aria-hidden="true">
      {known !== null ? (
        initial(known)
      ) : (
        <svg viewBox="0 0 20 20" aria-hidden="true">
          <path d="M10 3.5a3.2 3.2 0 1 1 0 6.4 3.2 3.2 0 1 1 0-6.4M3.8 17c.6-3.2 3-4.8 6.2-4.8s5.6 1.6 6.2 4.8" />
        </svg>
      )}
    </span>
  );
}
