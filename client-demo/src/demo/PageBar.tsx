import { useEffect, useRef } from 'react';

import { Icon } from './Icon';
import { ThemeSwitch } from './ThemeSwitch';

interface Props {
  /** The feed of whoever looks. */
  home: string;
  /** Left out where there is no room for another pane. */
  onOpenSecond?: () => void;
  /** There where a pane was just closed by a button that is gone: called once its opener has the focus. */
  onFocused?: () => void;
}

/** What the page is called, and what belongs to no pane. index.html has its beginning, until the script is there. */
export function PageBar({ home, onOpenSecond, onFocused }: Props) {
  const opener = useRef<HTMLButtonElement>(null);
  const isThere = onOpenSecond !== undefined;
  useEffect(() => {
    if (!isThere || !onFocused) return;
    opener.current?.focus();
    onFocused();
  }, [isThere, onFocused]);

  return (
    <header className="page-bar">
      <h1>
        <a href={home}>
          <svg className="page-logo" viewBox="0 0 24 24" width="26" height="26" aria-hidden="true">
            <path d="M12 21.2S2.5 15.6 2.5 9.1A5.2 5.2 0 0 1 12 6.2a5.2 5.2 0 0 1 9.5 2.9c0 6.5-9.5 12.1-9.5 12.1Z" />
          </svg>
          Likewise
        </a>
      </h1>
      <p className="page-tagline muted">Tap a heart, and it moves for everybody.</p>
      {onOpenSecond && (
        <button ref={opener} type="button" className="button" aria-label="Open a second pane" onClick={onOpenSecond}>
          <Icon path={SPLIT} />
          <span className="wide-only">Open a second pane</span>
        </button>
      )}
      <a className="button" aria-label="GraphiQL" href="/graphiql">
        <Icon path={BRACES} />
        <span className="wide-only">GraphiQL</span>
      </a>
      <ThemeSwitch />
    </header>
  );
}

const SPLIT = 'M4.5 3.5h11q2 0 2 2v9q0 2-2 2h-11q-2 0-2-2v-9q0-2 2-2ZM10 3.5v13M13.8 8v4m-2-2h4';
const BRACES = 'M7.5 3C3 3 6.5 10 3 10c3.5 0 0 7 4.5 7m5-14C17 3 13.5 10 17 10c-3.5 0 0 7-4.5 7';
