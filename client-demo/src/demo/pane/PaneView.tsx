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

/** Takes whoever uses a keyboard or a screen reader along to a new view; the first one takes nobody anywhere. */
function useFocusOnNewView(scroll: { current: HTMLElement | null }, view: View): void {
  const key = view.kind === 'item' ? `item ${view.id}` : view.kind;
  const last = useRef(key);
  useEffect(() => {
    if (last.current === key) return;
    last.current = key;
    scroll.current?.querySelector<HTMLElement>('h2')?.focus({ preventScroll: true });
  }, [scroll, key]);
}
