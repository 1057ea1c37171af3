import { useEffect, useRef } from 'react';

import type { EndlessList } from './useEndless';

/** How far ahead of its end a list loads on, so that scrolling seldom meets it. */
const AHEAD = '400px';

/** The end of an endless list: loads on when it comes near, and has a button for whoever does not scroll. */
export function ListEnd({ list, empty }: { list: EndlessList<unknown>; empty: string }) {
  const { phase, rows, problem, more } = list;
  const ref = useRef<HTMLDivElement>(null);
  const length = rows.length;

  // A new observer for each page reports again when the end is still in sight after it.
  useEffect(() => {
    const end = ref.current;
    if (!end || phase !== 'more' || length === 0) return;
    // Whoever came to the button with the keyboard presses it, and finds it in sight for the next page.
    if (hasFocus(end)) end.scrollIntoView({ block: 'nearest' });
    const root = end.closest('.pane-scroll');
    // Of several reports at once only the last says where the end is now.
    const observer = new IntersectionObserver(
      (reports) => reports.at(-1)?.isIntersecting && !hasFocus(end) && void more(),
      { root, rootMargin: AHEAD },
    );
    observer.observe(end);
    return () => observer.disconnect();
  }, [phase, length, more]);

  return (
    <div className="list-end" ref={ref}>
      {phase === 'failed' && <p className="notice">This could not be loaded: {problem}</p>}
      {phase === 'refused' && <p className="empty">{problem}</p>}
      {phase === 'over' && length === 0 && <p className="empty">{empty}</p>}
      {phase !== 'over' && phase !== 'refused' && (
        <button type="button" className="button" aria-disabled={phase === 'loading'} onClick={() => void more()}>
          {phase === 'loading' ? 'Loading …' : phase === 'failed' ? 'Try again' : 'Load more'}
        </button>
      )}
    </div>
  );
}

function hasFocus(end: HTMLElement): boolean {
  return end.querySelector(':focus-visible') !== null;
}
