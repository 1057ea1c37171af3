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

/** “Liked by you, Ana, Ben and 1,203 others”: who likes an item, as one viewer sees it. Empty until it is known. */
export function likeLine({ signedIn, liked, count, friends, othersCount }: LikeLineFacts): string {
  if (count === null) return '';
  const names = [...(liked ? ['you'] : []), ...friends.map((friend) => friend.name ?? 'a guest')];
  if (names.length === 0) {
    if (count === 0) return signedIn ? 'Be the first to like it' : 'Nobody likes it yet';
    return plural(count, 'like');
  }
  const others = othersCount > 0 ? [plural(othersCount, 'other')] : [];
  return `Liked by ${enumerated([...names, ...others])}`;
}

function plural(number: number, word: string): string {
  return `${grouped(number)} ${word}${number === 1 ? '' : 's'}`;
}

function enumerated(parts: readonly string[]): string {
  const last = parts[parts.length - 1] ?? '';
  return parts.length < 2 ? last : `${parts.slice(0, -1).join(', ')} and ${last}`;
}
