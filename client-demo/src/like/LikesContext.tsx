// Hands the viewer's likes down to the buttons.

import { createContext, type ReactNode, useContext } from 'react';

import type { Likes } from './likes';

const LikesContext = createContext<Likes | null>(null);

export function LikesProvider({ likes, children }: { likes: Likes; children: ReactNode }) {
  return <LikesContext value={likes}>{children}</LikesContext>;
}

export function useLikes(): Likes {
  const likes = useContext(LikesContext);
  if (likes === null) throw new Error('useLike needs a LikesProvider above it');
  return likes;
}
