import { useCallback, useEffect, useState } from 'react';

import { rememberViewer } from '../api/remembered';
import { canBeItem, itemOf, viewerName } from './catalogue';
import { PageBar } from './PageBar';
import { Pane } from './pane/Pane';
import { copyPlace } from './pane/places';
import { useScrollKeys } from './pane/useScrollKeys';
import {
  feed,
  formatPanes,
  type PaneRoute,
  type Panes,
  type View,
  withoutPane,
  withPane,
  withSecondPane,
} from './route';
import { useAnnouncements } from './useAnnouncements';
import { go, replace, useRoute } from './useRoute';

export function App() {
  const panes = useRoute();
  // A pane that stays when the first one closes stays the same pane.
  const [keys, setKeys] = useState(['a', 'b']);
  // By a button, which goes away with the focus: the focus follows, once.
  const [pressed, setPressed] = useState<'open' | 'close' | null>(null);
  const focused = useCallback(() => setPressed(null), []);
  const [said, announce] = useAnnouncements();
  useTitle(panes);
  useScrollKeys();
  const { viewer } = panes[0];
  useEffect(() => rememberViewer(viewer), [viewer]);

  const openSecond = () => {
    const both = withSecondPane(panes);
    copyPlace(placeOf(both[0]), placeOf(both[1]));
    go(both);
    setPressed('open');
    announce(`Second pane, viewing as ${viewerName(both[1].viewer)}`);
  };
  const change = (index: number, pane: PaneRoute) => {
    const present = panes[index];
    if (present && present.viewer !== pane.viewer) copyPlace(placeOf(present), placeOf(pane));
    // No entry in the history for each person that the arrow keys pass.
    replace(withPane(panes, index, pane));
  };
  const close = (index: number) => {
    if (index === 0) setKeys(([first = '', second = '']) => [second, first]);
    go(withoutPane(panes, index));
    setPressed('close');
  };

  return (
    <>
      <PageBar
        home={formatPanes(withPane(panes, 0, { viewer, view: feed }))}
        {...(panes.length === 1 && { onOpenSecond: openSecond })}
        {...(pressed === 'close' && { onFocused: focused })}
      />
      <main className="panes" data-panes={panes.length}>
        {panes.map((pane, index) => (
          <Pane
            key={keys[index]}
            panes={panes}
            index={index}
            place={placeOf(pane)}
            onChange={change}
            announce={announce}
            {...(panes.length > 1 && { onClose: () => close(index) })}
            {...(pressed === 'open' && index === 1 && { onFocused: focused })}
          />
        ))}
      </main>
      <div className="visually-hidden" role="status">
        {said}
      </div>
    </>
  );
}

/** Names the tab, and the entry of its history, after what the first pane shows. */
function useTitle([{ view }]: Panes): void {
  const title = titleOf(view);
  useEffect(() => {
    document.title = title ? `${title} · Likewise` : 'Likewise';
  }, [title]);
}

function titleOf(view: View): string | null {
  if (view.kind === 'feed') return null;
  if (view.kind === 'liked') return 'My likes';
  return canBeItem(view.id) ? itemOf(view.id).title : 'No such item';
}

function placeOf({ viewer, view }: PaneRoute): string {
  return [viewer, view.kind, view.kind === 'item' && view.id].join(' ');
}
