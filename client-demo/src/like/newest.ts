// Which of two answers about an item is newer, and what is shown while the viewer's wish is on its way. Pure.

import type { LikeFieldsFragment } from '../graphql/generated';

/** The newest that is known of an item. Its number and its heart belong together: the viewer's own tap is in the number. */
export type ItemLikes = LikeFieldsFragment;

/**
 * What is known of an item after another answer has come, in whatever order answers and pushes arrive:
 *
 * - an answer with an older heart is dropped whole: its number lacks the viewer's newest tap;
 * - else the heart is taken, and the number only with a higher `countVersion`. At the same version what is shown stays,
 *   with the heart's own step where that changed.
 */
export function newest(known: ItemLikes | undefined, answer: ItemLikes): ItemLikes {
  if (known === undefined) return answer;
  if (answer.likedByMe === null || answer.myReactionVersion === null) {
    // The viewer's row could not be read, so nobody knows whether the viewer's tap is in the number.
    return known.likedByMe === null ? later(known, answer) : { ...known, countFreshness: 'STALE' };
  }
  if (known.likedByMe === null || known.myReactionVersion === null) {
    if (answer.countVersion >= known.countVersion) return answer;
    const { likedByMe, myReactionVersion, friendLikers } = answer;
    return { ...known, likedByMe, myReactionVersion, friendLikers };
  }
  if (answer.myReactionVersion < known.myReactionVersion) return known;
  if (answer.countVersion > known.countVersion) return answer;
  const { likedByMe, myReactionVersion } = answer;
  const friendLikers = known.friendLikers ?? answer.friendLikers;
  return {
    ...later(known, answer),
    likedByMe,
    myReactionVersion,
    friendLikers,
    likeCount: withHeart(known, likedByMe),
  };
}

/** The same count, known for a later instant: freshness changes without a new version. */
function later(known: ItemLikes, answer: ItemLikes): ItemLikes {
  if (answer.countVersion !== known.countVersion || answer.countAsOf < known.countAsOf) return known;
  return { ...known, countAsOf: answer.countAsOf, countFreshness: answer.countFreshness };
}

/** The likes of everybody else, and the viewer's own if `liked`: the one step of arithmetic there is. */
export function withHeart(item: ItemLikes, liked: boolean): number {
  return item.likeCount + Number(liked) - Number(item.likedByMe === true);
}
