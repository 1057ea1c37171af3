import { createContext, useContext } from 'react';

import type { Connection } from '../../api/connection';
import type { View } from '../route';

/** What the views of a pane know of it. */
export interface PaneScope {
  /** Null: signed out. */
  readonly viewer: string | null;
  readonly connection: Connection;
  /** The address of another view of this pane, the other pane left as it is. */
  href(view: View): string;
  /** Asks who is looking; whoever it is then likes the item, if there is one. */
  askToSignIn(itemId?: string): void;
  /** Tells a screen reader, once whatever it is saying is said. */
  announce(text: string): void;
}

export const PaneContext = createContext<PaneScope | null>(null);

export function usePane(): PaneScope {
  const pane = useContext(PaneContext);
  if (!pane) throw new Error('usePane is for the inside of a pane');
  return pane;
}
