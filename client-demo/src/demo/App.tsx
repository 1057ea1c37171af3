import { useEffect, useState } from 'react';

import { rememberViewer } from '../api/remembered';
import { canBeItem, itemOf } from './catalogue';
import { Pane } from './pane/Pane';
import { copyPlace } from './pane/places';
import { useScrollKeys } from './pane/useScrollKeys';
import { type PaneRoute, type Panes, type View, withoutPane, withPane, withSecondPane } from './route';
import { ThemeSwitch } from './ThemeSwitch';
import { useAnnouncements } from './useAnnouncements';
import { go, useRoute } from './useRoute';

export function App() {
  const panes = useRoute();
  // A pane that stays when the first one closes stays the same pane.
  const [keys, setKeys] = useState(['a', 'b']);
  const [said, announce] = useAnnouncements();
  useTitle(panes);
  useScrollKeys();
  const { viewer } = panes[0];
  useEffect(() => rememberViewer(viewer), [viewer]);

  const openSecond = () => {
    const both = withSecondPane(panes);
    copyPlace(placeOf(both[0]), placeOf(both[1]));
    go(both);
  };
  const change = (index: number, pane: PaneRoute) => {
    const present = panes[index];
    if (present && present.viewer !== pane.viewer) copyPlace(placeOf(present), placeOf(pane));
    go(withPane(panes, index, pane));
  };
  const close = (index: number) => {
    if (index === 0) setKeys(([first = '', second = '']) => [second, first]);
    go(withoutPane(panes, index));
  };

  return (
    <>
      <header className="page-bar">
        <h1>
          <svg className="page-logo" viewBox="0 0 24 24" width="26" height="26" aria-hidden="true">
            <path d="M12 21.2S2.5 15.6 2.5 9.1A5.2 5.2 0 0 1 12 6.2a5.2 5.2 0 0 1 9.5 2.9c0 6.5-9.5 12.1-9.5 12.1Z" />
          </svg>
          Likewise
        </h1>
        <p className="page-tagline muted">Tap a heart, and it moves for everybody.</p>
        {panes.length === 1 && (
          <button type="button" className="button" aria-label="Open a second pane" onClick={openSecond}>
            <SplitIcon />
            <span className="wide-only">Open a second pane</span>
          </button>
        )}
        <a className="button wide-only" href="/graphiql">
          GraphiQL
        </a>
        <ThemeSwitch />
      </header>
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

function SplitIcon() {
  return (
    <svg
      viewBox="0 0 20 20"
      width="18"
      height="18"
      aria-hidden="true"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
    >
      <rect x="2.5" y="3.5" width="15" height="13" rx="2.5" />
      <path d="M10 3.5v13M13.8 8v4M11.8 10h4" strokeWidth="1.4" />
    </svg>
  );
}
