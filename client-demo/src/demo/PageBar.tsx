import { useEffect, useRef } from 'react';

import { ThemeSwitch } from './ThemeSwitch';

interface Props {
  /** Whether a pane was just closed by a button that is gone. */
  takesFocus: boolean;
  /** Left out where there is no room for another pane. */
  onOpenSecond?: () => void;
}

/** What the page is called, and what belongs to no pane. index.html has its beginning, until the script is there. */
export function PageBar({ takesFocus, onOpenSecond }: Props) {
  const opener = useRef<HTMLButtonElement>(null);
  const isBack = takesFocus && onOpenSecond !== undefined;
  useEffect(() => {
    if (isBack) opener.current?.focus();
  }, [isBack]);

  return (
    <header className="page-bar">
      <h1>
        <svg className="page-logo" viewBox="0 0 24 24" width="26" height="26" aria-hidden="true">
          <path d="M12 21.2S2.5 15.6 2.5 9.1A5.2 5.2 0 0 1 12 6.2a5.2 5.2 0 0 1 9.5 2.9c0 6.5-9.5 12.1-9.5 12.1Z" />
        </svg>
        Likewise
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

const SPLIT =
  'M5 3.5h10A2.5 2.5 0 0 1 17.5 6v8a2.5 2.5 0 0 1-2.5 2.5H5A2.5 2.5 0 0 1 2.5 14V6A2.5 2.5 0 0 1 5 3.5Zm5 0v13m3.8-8.5v4m-2-2h4';
const BRACES = 'M7.5 3C3 3 6.5 10 3 10c3.5 0 0 7 4.5 7M12.5 3C17 3 13.5 10 17 10c-3.5 0 0 7-4.5 7';

function Icon({ path }: { path: string }) {
  return (
    <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true" fill="none" stroke="currentColor">
      <path d={path} strokeWidth="1.5" />
    </svg>
  );
}
