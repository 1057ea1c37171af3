// Who somebody was last, so that the other page begins as the same person.

const KEY = 'likewise.viewer';

export function rememberViewer(user: string): void {
  localStorage.setItem(KEY, user);
}

/** Null where nobody was chosen yet. */
export function rememberedViewer(): string | null {
  return localStorage.getItem(KEY) || null;
}
