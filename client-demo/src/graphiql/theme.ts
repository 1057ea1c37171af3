// Light or dark: what was chosen in GraphiQL's settings, else on the demo page, else the system's.

import { rememberedTheme, type Theme } from '../api/remembered';
import { browserShelf } from '../api/storage';

/** Where GraphiQL keeps the theme that it shows. It takes anything but light and dark for the system's. */
const SHOWN = 'graphiql:theme';
/** What was chosen in its settings, which also clear what begins with `graphiql:`. */
const CHOSEN = 'graphiql:chosenTheme';

/** Before GraphiQL begins, which keeps no difference between what was chosen and what it was given. */
export function restoreTheme(): void {
  const theme = browserShelf.read(CHOSEN) ?? rememberedTheme() ?? 'system';
  browserShelf.write(SHOWN, theme);
  // GraphiQL does the same a moment later: until then, for the notice that it is loading.
  for (const name of ['light', 'dark']) document.body.classList.toggle(`graphiql-${name}`, theme === name);
}

/** Null: the system's. */
export function keepTheme(theme: Theme | null): void {
  browserShelf.write(CHOSEN, theme ?? 'system');
}
