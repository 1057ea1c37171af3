// Finds the like state of items in an answer, wherever it stands.

import type { ItemLikes } from './newest';

/** What is known of an item is this much of it. All else that an answer holds, a page of its likers say, is that answer's own. */
const FIELDS = {
  id: true,
  likeCount: true,
  countVersion: true,
  countAsOf: true,
  countFreshness: true,
  likedByMe: true,
  myReactionVersion: true,
  friendLikers: true,
} satisfies Record<keyof ItemLikes, true>;

/** A copy of `data` in which every item that carries a like state is what `take` makes of it. */
export function takeItems<T>(data: T, take: (item: ItemLikes) => ItemLikes): T {
  if (Array.isArray(data)) return data.map((entry) => takeItems(entry, take)) as T;
  if (typeof data !== 'object' || data === null) return data;
  const copy = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, takeItems(value, take)])) as T;
  return isItemLikes(copy) ? { ...copy, ...take(likesOf(copy)) } : copy;
}

function likesOf(item: ItemLikes): ItemLikes {
  return Object.fromEntries(Object.entries(item).filter(([field]) => field in FIELDS)) as ItemLikes;
}

function isItemLikes(value: unknown): value is ItemLikes {
  const fields = ['id', 'likeCount', 'countVersion', 'likedByMe', 'myReactionVersion'];
  const typename = (value as { __typename?: unknown }).__typename;
  return typename === 'Item' && fields.every((field) => field in (value as object));
}
