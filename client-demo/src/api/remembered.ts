// Who somebody was last, so that the other page begins as the same person.

import { browserShelf } from './storage';

const KEY = 'likewise.viewer';

export function rememberViewer(user: string): void {
  browserShelf.write(KEY, user);
}

/** Null where nobody was chosen yet. */
export function rememberedViewer(): string | null {
  return browserShelf.read(KEY) || null;
}
