import { describe, expect, it } from 'vitest';

import { type ItemLikes, newest, withHeart } from './newest';

const base: ItemLikes = {
  id: 'post:1',
  likeCount: 10,
  countVersion: 100,
  countAsOf: '2030-01-01T00:00:00.000Z',
  countFreshness: 'LIVE',
  likedByMe: false,
  myReactionVersion: 0,
  friendLikers: { users: [], othersCount: 10, complete: true },
};
const liked: ItemLikes = { ...base, likeCount: 11, likedByMe: true, myReactionVersion: 1 };

describe('newest', () => {
  it('takes what comes first', () => {
    expect(newest(undefined, base)).toEqual(base);
  });

  it('drops an answer with an older heart whole, its number included', () => {
    const late = { ...base, countVersion: 999, likeCount: 500 };
    expect(newest(liked, late)).toBe(liked);
  });

  it('takes the number with the higher version', () => {
    const push = { ...liked, countVersion: 101, likeCount: 12 };
    expect(newest(liked, push)).toEqual(push);
    expect(newest(push, liked).likeCount).toBe(12);
  });

  it('keeps what is shown at the same version', () => {
    expect(newest(base, { ...base, likeCount: 77 }).likeCount).toBe(10);
    // The viewer's own tap, answered before it was folded: the number that was shown with the filled heart stays.
    const answered = newest(base, { ...liked, likeCount: 77 });
    expect(answered.likedByMe).toBe(true);
    expect(answered.likeCount).toBe(withHeart(base, true));
  });

  it('takes a newer heart from an answer with an older number', () => {
    const push = { ...base, countVersion: 105, likeCount: 15 };
    const merged = newest(push, liked);
    expect(merged).toEqual({ ...push, likedByMe: true, myReactionVersion: 1, likeCount: 16 });
  });

  it('takes a change of freshness at the same version, but not from an earlier instant', () => {
    const stale: ItemLikes = { ...base, countFreshness: 'STALE' };
    expect(newest(base, stale).countFreshness).toBe('STALE');
    const earlier: ItemLikes = { ...stale, countAsOf: '2029-12-31T23:59:59.000Z' };
    expect(newest(base, earlier)).toEqual(base);
  });

  it('keeps the heart where the row could not be read, and says that the number may lag', () => {
    const unread: ItemLikes = { ...base, likedByMe: null, myReactionVersion: null, likeCount: 3, countVersion: 999 };
    expect(newest(liked, unread)).toEqual({ ...liked, countFreshness: 'STALE' });
    const { likedByMe, myReactionVersion, friendLikers } = liked;
    expect(newest(unread, liked)).toEqual({ ...unread, likedByMe, myReactionVersion, friendLikers });
    expect(newest({ ...unread, countVersion: 100 }, liked)).toEqual(liked);
  });

  it('never goes back, in whatever order answers arrive', () => {
    // What a server says as three taps of others and two of the viewer's are folded.
    const answers: ItemLikes[] = [
      base,
      { ...base, countVersion: 101, likeCount: 11 },
      { ...base, countVersion: 101, likeCount: 12, likedByMe: true, myReactionVersion: 1 },
      { ...base, countVersion: 102, likeCount: 13, likedByMe: true, myReactionVersion: 1 },
      { ...base, countVersion: 102, likeCount: 12, likedByMe: false, myReactionVersion: 2 },
      { ...base, countVersion: 103, likeCount: 13, likedByMe: false, myReactionVersion: 2 },
    ];
    for (const order of permutations(answers)) {
      let known: ItemLikes | undefined;
      for (const answer of order) {
        const before: ItemLikes | undefined = known;
        known = newest(known, answer);
        if (before === undefined) continue;
        expect(known.myReactionVersion).toBeGreaterThanOrEqual(before.myReactionVersion ?? 0);
        expect(known.countVersion).toBeGreaterThanOrEqual(before.countVersion);
      }
      expect(known).toMatchObject({ likeCount: 13, likedByMe: false, myReactionVersion: 2, countVersion: 103 });
    }
  });
});

function permutations<T>(list: T[]): T[][] {
  if (list.length < 2) return [list];
  return list.flatMap((first, index) =>
    permutations(list.filter((_, at) => at !== index)).map((rest) => [first, ...rest]),
  );
}
