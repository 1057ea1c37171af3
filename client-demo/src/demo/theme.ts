// Light or dark: the system's choice, which the style sheet follows by itself, until somebody makes another.
import { rememberedTheme, rememberTheme, type Theme } from '../api/remembered';

const system = window.matchMedia('(prefers-color-scheme: dark)');

export function theme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === 'light' || chosen === 'dark') return chosen;
  return system.matches ? 'dark' : 'light';
}

export function choose(choice: Theme): void {
  document.documentElement.dataset.theme = choice;
  rememberTheme(choice);
}

/** Before anything is drawn. */
export function restoreTheme(): void {
  const chosen = rememberedTheme();
  if (chosen !== null) document.documentElement.dataset.theme = chosen;
}

/** Calls when the system's choice changes. */
export function onSystemTheme(changed: () => void): () => void {
  system.addEventListener('change', changed);
  return () => system.removeEventListener('change', changed);
}
