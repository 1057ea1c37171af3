// What was chosen last, so that the other page begins with it.

import { browserShelf } from './storage';

const VIEWER_KEY = 'likewise.viewer';
const THEME_KEY = 'likewise-theme';

export type Theme = 'light' | 'dark';

export function rememberViewer(user: string): void {
  browserShelf.write(VIEWER_KEY, user);
}

/** Null where nobody was chosen yet. */
export function rememberedViewer(): string | null {
  return browserShelf.read(VIEWER_KEY) || null;
}

export function rememberTheme(theme: Theme): void {
  browserShelf.write(THEME_KEY, theme);
}

/** Null where it is left to the system. */
export function rememberedTheme(): Theme | null {
  const theme = browserShelf.read(THEME_KEY);
  return theme === 'light' || theme === 'dark' ? theme : null;
}
