import { useGraphiQL, useGraphiQLActions } from '@graphiql/react';
import { useEffect, useRef } from 'react';

import { keepTheme } from './theme';

/**
 * Lets the editors follow when the system goes dark or light: GraphiQL's style sheet does, its editors stay as they began.
 * Keeps what is chosen in the settings.
 */
export function SystemTheme() {
  const theme = useGraphiQL((state) => state.theme);
  const { setTheme } = useGraphiQLActions();
  const last = useRef(theme);
  useEffect(() => {
    if (theme !== last.current) keepTheme(theme);
    last.current = theme;
  }, [theme]);
  useEffect(() => {
    if (theme !== null) return; // Not the system's.
    const system = matchMedia('(prefers-color-scheme: dark)');
    const follow = () => setTheme(null);
    system.addEventListener('change', follow);
    return () => system.removeEventListener('change', follow);
  }, [theme, setTheme]);
  return null;
}
