/** An operation to start from: a tab of its own. */
export interface Example {
  readonly query: string;
  readonly variables?: string;
}

// Lines have at most 50 characters: what the editor shows in a window of 1,280 pixels.

const feed = `# Some items, as you should see them. The token in
# Headers, beside Variables below, says who you
# are: with another's, hearts and friends are
# theirs; with none, you are anonymous.
query Feed {
  items(
    ids: ["photo:sunrise", "post:1", "game:go"]
  ) {
    id
    # All likes counted so far, and your own tap
    # in any case, once. There is nothing to add.
    likeCount
    # From your own row, right at once.
    likedByMe
    # Every like before this instant is counted.
    countAsOf
    # STALE: the count is some seconds old. Show
    # it, and say that it may lag.
    countFreshness
    # “Liked by you, Ben and 1,203 others”
    friendLikers(first: 2) {
      users {
        name
      }
      othersCount
    }
  }
}
`;

const like = `# A tap on the heart has one idempotency key: the
# client makes it up, and sends the same one with
# each retry. Run this twice: the second answer is
# the first again, marked as replayed, and nothing
# is counted twice. For a new tap change the key,
# in Variables; a reload of the page does, too.
mutation Like(
  $itemId: ID!
  $idempotencyKey: String
) {
  like(
    input: {
      itemId: $itemId
      idempotencyKey: $idempotencyKey
    }
  ) {
    # False where you liked it already: success,
    # too. No retry can undo it: it is no toggle.
    changed
    replayed
    # QUEUED: you see your like at once, others
    # normally within a second.
    countStatus
    item {
      id
      likeCount
      likedByMe
      # Grows with each change of your heart. Of
      # two answers, keep the heart with the
      # higher one.
      myReactionVersion
    }
  }
}
`;

const unlike = `# Takes the like back: always allowed, and success
# also where there is nothing to take back. It is
# a tap as well, with a key of its own.
mutation Unlike(
  $itemId: ID!
  $idempotencyKey: String
) {
  unlike(
    input: {
      itemId: $itemId
      idempotencyKey: $idempotencyKey
    }
  ) {
    changed
    replayed
    item {
      id
      likeCount
      likedByMe
      myReactionVersion
    }
  }
}
`;

const watch = `# Press play: the state now, then each change.
# Like the item in another window, or send it a
# burst from the demo. Press again to stop.
#
# While likes keep coming, you get the newest
# state a few times a second, and always the last
# one.
subscription Watch($ids: [ID!]!) {
  itemUpdated(ids: $ids) {
    id
    likeCount
    likedByMe
    # Grows with whatever is counted, and never
    # goes back. Answers and events may overtake
    # each other: drop a count with a lower
    # version than the one you show.
    countVersion
    countAsOf
    countFreshness
  }
}
`;

const myLikedItems = `# What you like, newest first. For the next page,
# put this one's endCursor into "after".
query MyLikedItems($first: Int!, $after: String) {
  # Null where you are anonymous.
  viewer {
    user {
      id
      name
    }
    likedItems(first: $first, after: $after) {
      edges {
        likedAt
        node {
          id
          likeCount
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
`;

/**
 * The first tabs. `visit` makes the idempotency keys new ones: the server remembers a key for a day. `storageProps` knows
 * them by their form.
 */
export function examples(visit: string): Example[] {
  return [
    // No variables here: GraphiQL opens the first tab without them.
    { query: feed },
    { query: like, variables: json({ itemId: 'photo:sunrise', idempotencyKey: `like-${visit}` }) },
    { query: unlike, variables: json({ itemId: 'photo:sunrise', idempotencyKey: `unlike-${visit}` }) },
    { query: watch, variables: json({ ids: ['photo:sunrise'] }) },
    { query: myLikedItems, variables: json({ first: 10, after: null }) },
  ];
}

function json(variables: Record<string, unknown>): string {
  return JSON.stringify(variables, null, 2);
}
