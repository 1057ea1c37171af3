import { seen } from '../names';

export interface LikeLineFacts {
  readonly signedIn: boolean;
  readonly liked: boolean;
  /** Null until it is known. */
  readonly count: number | null;
  /** Friends who like the item; those without a name are guests. */
  readonly friends: readonly { readonly name: string | null }[];
  /** Everybody who likes it but the viewer and the friends. */
  readonly othersCount: number;
}

const grouping = new Intl.NumberFormat('en-GB');

/** `1,203`. */
export function grouped(number: number): string {
  return grouping.format(number);
}

/** A piece of the line: our words, or a person's own name, which may be written the other way round. */
export type Part = string | { readonly name: string };

/** “Liked by you, Ana, Ben and 1,203 others”: who likes an item, as one viewer sees it. Empty until it is known. */
export function likeLine({ signedIn, liked, count, friends, othersCount }: LikeLineFacts): Part[] {
  if (count === null) return [];
  const names: Part[] = [...(liked ? ['you'] : []), ...friends.map(({ name }) => nameOf(name))];
  if (names.length === 0) {
    if (count === 0) return [signedIn ? 'Be the first to like it' : 'Nobody likes it yet'];
    return [plural(count, 'like')];
  }
  const others = othersCount > 0 ? [plural(othersCount, 'other')] : [];
  return ['Liked by ', ...enumerated([...names, ...others])];
}

function nameOf(name: string | null): Part {
  const known = seen(name);
  return known === null ? 'a guest' : { name: known };
}

function plural(number: number, word: string): string {
  return `${grouped(number)} ${word}${number === 1 ? '' : 's'}`;
}

function enumerated(parts: readonly Part[]): Part[] {
  return parts.flatMap((part, index) => {
    if (index === 0) return [part];
    return [index === parts.length - 1 ? ' and ' : ', ', part];
  });
}
