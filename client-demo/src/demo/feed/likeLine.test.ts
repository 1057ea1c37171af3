// @vitest-environment node
import { expect, it } from 'vitest';

import { type LikeLineFacts, likeLine } from './likeLine';

const ana = { name: 'Ana' };
const ben = { name: 'Ben' };
const nobody: LikeLineFacts = { signedIn: true, liked: false, count: 0, friends: [], othersCount: 0 };

const cases: readonly [string, Partial<LikeLineFacts>][] = [
  ['Liked by you, Ana, Ben and 1,203 others', { liked: true, count: 1206, friends: [ana, ben], othersCount: 1203 }],
  ['Liked by Ana, Ben and 1 other', { count: 3, friends: [ana, ben], othersCount: 1 }],
  ['Liked by Ana and Ben', { count: 2, friends: [ana, ben] }],
  ['Liked by you and Ana', { liked: true, count: 2, friends: [ana] }],
  ['Liked by you and 41 others', { liked: true, count: 42, othersCount: 41 }],
  ['Liked by you', { liked: true, count: 1 }],
  ['Liked by you and a guest', { liked: true, count: 2, friends: [{ name: null }] }],
  ['Liked by a guest and Ana', { count: 2, friends: [{ name: ' \u200b' }, ana] }],
  ['1,204 likes', { count: 1204, othersCount: 1204 }],
  ['1 like', { count: 1, othersCount: 1 }],
  ['1,204 likes', { signedIn: false, count: 1204, othersCount: 1204 }],
  ['Be the first to like it', {}],
  ['Nobody likes it yet', { signedIn: false }],
  ['', { count: null }],
];

it.each(cases)('%j', (line, facts) => {
  const parts = likeLine({ ...nobody, ...facts });
  expect(parts.map((part) => (typeof part === 'string' ? part : part.name)).join('')).toBe(line);
});
