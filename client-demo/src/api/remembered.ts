// What was chosen last, so that the other page begins with it.

import { browserShelf } from './storage';

const VIEWER_KEY = 'likewise.viewer';
const THEME_KEY = 'likewise-theme';

export type Theme = 'light' | 'dark';

/** Null where somebody signed out. */
export function rememberViewer(user: string | null): void {
  browserShelf.write(VIEWER_KEY, user ?? '');
}

/** Null for signed out, undefined where nobody was chosen yet. */
export function rememberedViewer(): string | null | undefined {
  const user = browserShelf.read(VIEWER_KEY);
  return user === null ? undefined : user || null;
}

export function rememberTheme(theme: Theme): void {
  browserShelf.write(THEME_KEY, theme);
}

/** Null where it is left to the system. */
export function rememberedTheme(): Theme | null {
  const theme = browserShelf.read(THEME_KEY);
  return theme === 'light' || theme === 'dark' ? theme : null;
}
