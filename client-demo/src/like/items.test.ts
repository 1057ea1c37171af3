import { expect, test } from 'vitest';

import { takeItems } from './items';
import { type ItemLikes, newest } from './newest';

const likes = {
  __typename: 'Item',
  id: 'post:1',
  likeCount: 3,
  countVersion: 7,
  likedByMe: true,
  myReactionVersion: 1,
};

test('what else an answer holds of an item does not get into the next one', () => {
  let known: ItemLikes | undefined;
  const take = (item: ItemLikes) => {
    known = newest(known, item);
    return known;
  };
  const first = { item: { ...likes, likers: ['ben'] } };
  const second = { item: { ...likes, likeCount: 2, countVersion: 6, likers: ['ana'] } };
  expect(takeItems(first, take)).toEqual(first);
  expect(takeItems(second, take)).toEqual({ item: { ...likes, likers: ['ana'] } });
});
