import { useEffect, useRef } from 'react';

import { Feed } from '../feed/Feed';
import { ItemPage } from '../item/ItemPage';
import { LikedItems } from '../list/LikedItems';
import type { View } from '../route';
import { usePlace } from './places';

/** What a pane shows, at the place where its viewer left it. */
export function PaneView({ view, place }: { view: View; place: string }) {
  const scroll = useRef<HTMLDivElement>(null);
  usePlace(scroll, place);
  useFocusOnNewView(scroll, view);
  return (
    <div className="pane-scroll" tabIndex={-1} ref={scroll}>
      {view.kind === 'item' ? (
        <ItemPage key={view.id} id={view.id} />
      ) : view.kind === 'liked' ? (
        <LikedItems />
      ) : (
        <Feed />
      )}
    </div>
  );
}

/**
 * Takes whoever uses a keyboard or a screen reader along to a new view, after an item to its card if that is there; the first
 * view takes nobody anywhere.
 */
function useFocusOnNewView(scroll: { current: HTMLElement | null }, view: View): void {
  const { kind } = view;
  const id = view.kind === 'item' ? view.id : null;
  const last = useRef({ kind, id });
  useEffect(() => {
    const before = last.current;
    if (before.kind === kind && before.id === id) return;
    last.current = { kind, id };
    const find = (selector: string) => scroll.current?.querySelector<HTMLElement>(selector);
    const card = before.id === null ? null : find(`.card[data-item="${CSS.escape(before.id)}"] a`);
    (card ?? find('h2'))?.focus({ preventScroll: true });
  }, [scroll, kind, id]);
}
