// What the page shows, as its address: `#/ana+/ben/item/post:1` is Ana's feed beside an item as Ben sees it. A refresh, a
// bookmark and the Back button keep viewer, panes and place because there is no other store of them.
import { people } from './catalogue';

export type View =
  | { readonly kind: 'feed' }
  | { readonly kind: 'liked' }
  | { readonly kind: 'item'; readonly id: string };

export interface PaneRoute {
  /** Null: signed out. */
  readonly viewer: string | null;
  readonly view: View;
}

export type Panes = readonly [PaneRoute] | readonly [PaneRoute, PaneRoute];

export const feed: View = { kind: 'feed' };
export const liked: View = { kind: 'liked' };

const signedOut = 'signed-out';
const known = new Set(people.map((person) => person.id));

/** Where an address names nobody who is known, it is the feed of `viewer`. */
export function parsePanes(hash: string, viewer: string | null = people[0]?.id ?? null): Panes {
  // Within an id a plus is encoded, but whoever writes an address by hand may not know.
  const [first, second] = hash.replace(/^#/, '').split('+/').map(parsePane);
  if (!first) return [{ viewer: viewer !== null && known.has(viewer) ? viewer : null, view: feed }];
  return second ? [first, second] : [first];
}

export function formatPanes(panes: Panes): string {
  return `#${panes.map(formatPane).join('+')}`;
}

/** The panes with another one in the place of the one at `index`. */
export function withPane(panes: Panes, index: number, pane: PaneRoute): Panes {
  const [first, second] = panes;
  if (!second) return [pane];
  return index === 0 ? [pane, second] : [first, pane];
}

/** A second pane on the same view, as the first person who is not looking yet. */
export function withSecondPane([first]: Panes): readonly [PaneRoute, PaneRoute] {
  const other = people.find((person) => person.id !== first.viewer);
  return [first, { viewer: other?.id ?? null, view: first.view }];
}

export function withoutPane(panes: Panes, index: number): Panes {
  const [first, second] = panes;
  return [index === 0 && second ? second : first];
}

function parsePane(path: string): PaneRoute | null {
  const [name = '', kind, ...id] = path.replace(/^\//, '').split('/');
  if (name !== signedOut && !known.has(name)) return null;
  return { viewer: name === signedOut ? null : name, view: parseView(kind, id.join('/')) };
}

function parseView(kind: string | undefined, id: string): View {
  if (kind === 'liked') return liked;
  const decoded = kind === 'item' && id ? decode(id) : null;
  return decoded ? { kind: 'item', id: decoded } : feed;
}

function formatPane({ viewer, view }: PaneRoute): string {
  const root = `/${viewer ?? signedOut}`;
  if (view.kind === 'feed') return root;
  if (view.kind === 'liked') return `${root}/liked`;
  return `${root}/item/${encodeURIComponent(view.id).replaceAll('%3A', ':')}`;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null; // a hand-made address with a stray %
  }
}
