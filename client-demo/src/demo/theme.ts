// Light or dark: the system's choice, which the style sheet follows by itself, until somebody makes another.
import { browserShelf } from '../api/storage';

const storageKey = 'likewise-theme';

type Theme = 'light' | 'dark';

const system = window.matchMedia('(prefers-color-scheme: dark)');

export function theme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === 'light' || chosen === 'dark') return chosen;
  return system.matches ? 'dark' : 'light';
}

export function choose(choice: Theme): void {
  document.documentElement.dataset.theme = choice;
  browserShelf.write(storageKey, choice);
}

/** Before anything is drawn. */
export function restoreTheme(): void {
  const stored = browserShelf.read(storageKey);
  if (stored === 'light' || stored === 'dark') document.documentElement.dataset.theme = stored;
}

/** Calls when the system's choice changes. */
export function onSystemTheme(changed: () => void): () => void {
  system.addEventListener('change', changed);
  return () => system.removeEventListener('change', changed);
}
