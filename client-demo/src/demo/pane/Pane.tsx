import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Provider } from 'urql';

import { createViewerClient, type ViewerClient } from '../../api/viewerClient';
import { LikesProvider } from '../../like/LikesContext';
import { viewerName } from '../catalogue';
import { formatPanes, type PaneRoute, type Panes, type View, withPane } from '../route';
import { PaneBar } from './PaneBar';
import { PaneContext, type PaneScope } from './PaneContext';
import { PaneView } from './PaneView';
import { type Asking, SignInDialog } from './SignInDialog';
import { useAges } from './useAges';

interface Props {
  panes: Panes;
  index: number;
  /** Under which its scrolling is remembered. */
  place: string;
  onChange: (index: number, pane: PaneRoute) => void;
  onClose?: () => void;
  /** There where it was just opened by a button that is gone: called once its bar has the focus. */
  onFocused?: () => void;
  announce: (text: string) => void;
}

/** The page as one viewer sees it, with a client of the viewer's own. */
export function Pane({ panes, index, place, onChange, onClose, onFocused, announce }: Props) {
  const { viewer, view } = panes[index] ?? panes[0];
  const [asked, setAsked] = useState<(Asking & { readonly place: string }) | null>(null);
  const askToSignIn = useCallback((itemId?: string) => setAsked({ itemId, place }), [place]);
  // Whoever has gone elsewhere meanwhile is asked no more.
  const asking = asked?.place === place ? asked : null;
  const own = useOwnClient(viewer, askToSignIn);
  const likeAs = useLikeOnceSignedIn(own);
  useAges(own?.likes);

  const href = useCallback(
    (other: View) => formatPanes(withPane(panes, index, { viewer, view: other })),
    [panes, index, viewer],
  );
  const scope = useMemo<PaneScope | null>(
    () => own && { viewer: own.user, connection: own.connection, href, askToSignIn, announce },
    [own, href, askToSignIn, announce],
  );
  const switchTo = (other: string | null) => {
    setAsked(null);
    onChange(index, { viewer: other, view });
  };
  const signIn = (other: string) => {
    if (asking?.itemId !== undefined) likeAs(other, asking.itemId);
    switchTo(other);
  };

  return (
    <section className="pane" aria-label={viewer === null ? 'Viewing signed out' : `Viewing as ${viewerName(viewer)}`}>
      {own && (
        <PaneContext value={scope}>
          <Provider value={own.client}>
            <LikesProvider likes={own.likes}>
              <PaneBar
                viewer={viewer}
                view={view}
                onSwitch={switchTo}
                {...(onClose && { onClose })}
                {...(onFocused && { onFocused })}
              />
              <PaneView view={view} place={place} />
            </LikesProvider>
          </Provider>
        </PaneContext>
      )}
      <SignInDialog asking={asking} onChoose={signIn} onClose={() => setAsked(null)} />
    </section>
  );
}

/** Keeps what was tapped before somebody signed in until they have. */
function useLikeOnceSignedIn(own: OwnClient | null): (user: string, itemId: string) => void {
  const wish = useRef<{ readonly user: string; readonly itemId: string }>(null);
  useEffect(() => {
    if (wish.current !== null && own?.user === wish.current.user) own.likes.like(wish.current.itemId);
    wish.current = null;
  }, [own]);
  return useCallback((user, itemId) => {
    wish.current = { user, itemId };
  }, []);
}

interface OwnClient extends ViewerClient {
  readonly user: string | null;
}

/**
 * Made after rendering, since it opens a socket that only a clean-up closes. Until a new viewer's is there, the last
 * viewer's stays, with its viewer's name, so that nothing is torn down and the focus stays where it is.
 */
function useOwnClient(user: string | null, askToSignIn: (itemId: string) => void): OwnClient | null {
  const [own, setOwn] = useState<OwnClient | null>(null);
  useEffect(() => {
    const made = createViewerClient({ user, askToSignIn });
    setOwn({ ...made, user });
    return () => made.close();
  }, [user, askToSignIn]);
  return own;
}
