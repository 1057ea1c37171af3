import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { type FakeServer, fakeServer, item } from './fakeServer';

let server: FakeServer;
let offline = false;

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(navigator, 'onLine', 'get').mockImplementation(() => !offline);
  server = fakeServer();
});

afterEach(() => {
  server.likes.close();
  offline = false;
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Watches post:1 and lets the server say what it is. */
async function watch(known = item()) {
  server.likes.subscribe('post:1', () => {});
  await vi.advanceTimersByTimeAsync(0);
  server.push(known);
}

const shown = () => {
  const { liked, count, phase, problem } = server.likes.state('post:1');
  return { liked, count, phase, problem };
};
const tap = () => server.likes.tap('post:1');
const settled = () => vi.advanceTimersByTimeAsync(0);
const mutation = (index: number) => {
  const found = server.mutations()[index];
  if (found === undefined) throw new Error(`there is no call ${index}`);
  return found;
};

describe('a tap', () => {
  it('moves heart and number at once, and the answer changes nothing more', async () => {
    await watch();
    expect(shown()).toEqual({ liked: false, count: 10, phase: 'settled', problem: null });
    tap();
    expect(shown()).toEqual({ liked: true, count: 11, phase: 'sending', problem: null });
    mutation(0).answer({ like: { item: item({ likeCount: 11, likedByMe: true, myReactionVersion: 1 }) } });
    await settled();
    expect(shown()).toEqual({ liked: true, count: 11, phase: 'settled', problem: null });
    server.push(item({ likeCount: 11, likedByMe: true, myReactionVersion: 1, countVersion: 101 }));
    expect(shown()).toMatchObject({ liked: true, count: 11 });
  });

  it('is counted once through a burst, whether a push has it already or not', async () => {
    await watch();
    tap();
    server.push(item({ likeCount: 14, countVersion: 101 }));
    expect(shown()).toMatchObject({ liked: true, count: 15 });
    // Folded before its answer came.
    server.push(item({ likeCount: 17, countVersion: 102, likedByMe: true, myReactionVersion: 1 }));
    expect(shown()).toMatchObject({ liked: true, count: 17 });
    mutation(0).answer({ like: { item: item({ likeCount: 11, likedByMe: true, myReactionVersion: 1 }) } });
    await settled();
    expect(shown()).toMatchObject({ liked: true, count: 17, phase: 'settled' });
  });

  it('sends one call at a time, and what came of several taps', async () => {
    await watch();
    tap();
    tap();
    expect(shown()).toMatchObject({ liked: false, count: 10, phase: 'sending' });
    expect(server.mutations()).toHaveLength(1);
    mutation(0).answer({ like: { item: item({ likeCount: 11, likedByMe: true, myReactionVersion: 1 }) } });
    await settled();
    expect(server.mutations().map(({ name }) => name)).toEqual(['Like', 'Unlike']);
    expect(mutation(1).variables.idempotencyKey).not.toBe(mutation(0).variables.idempotencyKey);
    expect(shown()).toMatchObject({ liked: false, count: 10 });
    mutation(1).answer({ unlike: { item: item({ myReactionVersion: 2 }) } });
    await settled();
    expect(shown()).toEqual({ liked: false, count: 10, phase: 'settled', problem: null });
    expect(server.mutations()).toHaveLength(2);
  });

  it('needs no second call where three taps lead to what the first asked for', async () => {
    await watch();
    tap();
    tap();
    tap();
    mutation(0).answer({ like: { item: item({ likeCount: 11, likedByMe: true, myReactionVersion: 1 }) } });
    await settled();
    expect(server.mutations()).toHaveLength(1);
    expect(shown()).toEqual({ liked: true, count: 11, phase: 'settled', problem: null });
  });
});

describe('a call that fails', () => {
  it('is tried again with the same key, later each time', async () => {
    await watch();
    tap();
    mutation(0).loseConnection();
    await vi.advanceTimersByTimeAsync(400);
    mutation(1).refuse('UNAVAILABLE', { retryable: true, retryAfterMs: 1_000 });
    await vi.advanceTimersByTimeAsync(990);
    expect(server.mutations()).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(server.mutations()).toHaveLength(3);
    expect(new Set(server.mutations().map(({ variables }) => variables.idempotencyKey)).size).toBe(1);
    expect(shown()).toMatchObject({ liked: true, count: 11, phase: 'sending' });
    mutation(2).answer({ like: { item: item({ likeCount: 11, likedByMe: true, myReactionVersion: 1 }) } });
    await settled();
    expect(shown()).toMatchObject({ liked: true, phase: 'settled', problem: null });
  });

  it('is undone with a message when no answer comes, and what became of it is read', async () => {
    await watch();
    tap();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(shown()).toMatchObject({ liked: false, count: 10, phase: 'settled' });
    expect(shown().problem).toMatch(/could not be confirmed/);
    expect(server.mutations().length).toBeGreaterThan(1);

    const read = server.asked.filter(({ name }) => name === 'LikeStates').at(-1);
    read?.answer({ items: [item({ likeCount: 11, likedByMe: true, myReactionVersion: 1, countVersion: 101 })] });
    // It was carried out after all: nothing is left to complain about.
    expect(shown()).toMatchObject({ liked: true, count: 11, problem: null });
    // An answer that comes after all is only one more answer.
    mutation(0).answer({ like: { item: item({ likeCount: 11, likedByMe: true, myReactionVersion: 1 }) } });
    expect(shown()).toMatchObject({ liked: true, count: 11, phase: 'settled' });
  });

  it('is tried once more when patience ends, however long the server asks to be left alone', async () => {
    await watch();
    tap();
    mutation(0).refuse('OVERLOADED', { retryable: true, retryAfterMs: 3_600_000 });
    await vi.advanceTimersByTimeAsync(9_900);
    expect(server.mutations()).toHaveLength(1);
    expect(shown()).toMatchObject({ liked: true, phase: 'sending' });
    await vi.advanceTimersByTimeAsync(200);
    expect(server.mutations()).toHaveLength(2);
    mutation(1).refuse('OVERLOADED', { retryable: true, retryAfterMs: 1_000 });
    await settled();
    expect(shown()).toMatchObject({ liked: false, phase: 'settled' });
    expect(shown().problem).toMatch(/could not be confirmed/);
  });

  it('leaves the server alone for as long as it asks, also when the page is looked at', async () => {
    await watch();
    tap();
    mutation(0).refuse('OVERLOADED', { retryable: true, retryAfterMs: 3_000 });
    for (let look = 0; look < 20; look++) {
      await vi.advanceTimersByTimeAsync(140);
      document.dispatchEvent(new Event('visibilitychange'));
    }
    expect(server.mutations()).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(300);
    expect(server.mutations()).toHaveLength(2);
  });

  it('is not given up sooner where the page is looked at again and again', async () => {
    await watch();
    tap();
    for (let look = 0; look < 9; look++) {
      server.mutations().at(-1)?.loseConnection();
      await vi.advanceTimersByTimeAsync(100);
      document.dispatchEvent(new Event('visibilitychange'));
      await settled();
    }
    expect(server.mutations()).toHaveLength(10);
    expect(shown()).toMatchObject({ liked: true, phase: 'sending', problem: null });
  });

  it('says nothing where the last wish is what there is, unless the call before it arrives late', async () => {
    await watch();
    tap();
    tap();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(server.mutations().map(({ name }) => name)).not.toContain('Unlike');
    expect(shown()).toEqual({ liked: false, count: 10, phase: 'settled', problem: null });
    server.push(item({ likeCount: 11, likedByMe: true, myReactionVersion: 1, countVersion: 101 }));
    expect(shown()).toMatchObject({ liked: true, count: 11 });
    expect(shown().problem).toBe('Taking your like back could not be confirmed. Please try again.');
    // Their other device does it.
    server.push(item({ myReactionVersion: 2, countVersion: 102 }));
    expect(shown()).toEqual({ liked: false, count: 10, phase: 'settled', problem: null });
    server.push(item({ likeCount: 11, likedByMe: true, myReactionVersion: 3, countVersion: 103 }));
    expect(shown()).toMatchObject({ liked: true, problem: null });
  });

  it('is not made out to be at fault for what happens a minute later', async () => {
    await watch();
    tap();
    tap();
    await vi.advanceTimersByTimeAsync(80_000);
    server.push(item({ likeCount: 11, likedByMe: true, myReactionVersion: 1, countVersion: 101 }));
    expect(shown()).toMatchObject({ liked: true, problem: null });
  });

  it('is undone at once where the server says no', async () => {
    await watch();
    tap();
    mutation(0).refuse('ITEM_CLOSED');
    await settled();
    expect(shown()).toEqual({ liked: false, count: 10, phase: 'settled', problem: 'This takes no new likes.' });
    expect(server.mutations()).toHaveLength(1);
    tap();
    expect(shown().problem).toBeNull();
    expect(mutation(1).variables.idempotencyKey).not.toBe(mutation(0).variables.idempotencyKey);
  });

  it('is not overtaken by the next tap: its request may still arrive', async () => {
    await watch();
    tap();
    mutation(0).loseConnection();
    tap();
    await vi.advanceTimersByTimeAsync(400);
    expect(server.mutations().map(({ name }) => name)).toEqual(['Like', 'Like']);
    mutation(1).answer({ like: { item: item({ likeCount: 11, likedByMe: true, myReactionVersion: 1 }) } });
    await settled();
    expect(server.mutations().map(({ name }) => name)).toEqual(['Like', 'Like', 'Unlike']);
  });
});

describe('a call whose answers are lost', () => {
  const liked = item({ likeCount: 11, likedByMe: true, myReactionVersion: 1, countVersion: 101 });

  it('is over once a push shows that the server has it', async () => {
    await watch();
    tap();
    server.push(liked);
    mutation(0).loseConnection();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.mutations()).toHaveLength(1);
    expect(shown()).toEqual({ liked: true, count: 11, phase: 'settled', problem: null });
  });

  it('makes way for the next tap once a push shows that the server has it', async () => {
    await watch();
    tap();
    server.push(liked);
    tap();
    expect(server.mutations().map(({ name }) => name)).toEqual(['Like']);
    // The first answer never comes.
    await vi.advanceTimersByTimeAsync(5_000);
    expect(server.mutations().map(({ name }) => name)).toEqual(['Like', 'Unlike']);
    expect(shown()).toMatchObject({ liked: false, count: 10, problem: null });
  });

  it('is not taken for the older like of another device', async () => {
    await watch(item({ likeCount: 11, likedByMe: true, myReactionVersion: 3 }));
    tap();
    mutation(0).loseConnection();
    server.push(item({ likeCount: 11, likedByMe: true, myReactionVersion: 3, countVersion: 102 }));
    await vi.advanceTimersByTimeAsync(500);
    expect(server.mutations()).toHaveLength(2);
  });

  it.each([
    ['no data', null],
    ['no payload', { like: null }],
    ['no item', { like: { item: null } }],
    ['an item without its heart', { like: { item: { __typename: 'Item', id: 'post:1' } } }],
    ['another item', { like: { item: { ...liked, id: 'post:2' } } }],
  ])('is tried again after %s', async (_, data) => {
    await watch();
    tap();
    mutation(0).answer(data);
    await settled();
    expect(shown()).toMatchObject({ liked: true, count: 11, phase: 'sending' });
    await vi.advanceTimersByTimeAsync(500);
    expect(mutation(1).variables.idempotencyKey).toBe(mutation(0).variables.idempotencyKey);
  });

  it('does not swallow the next tap where something broke after it was stored', async () => {
    await watch();
    tap();
    tap();
    mutation(0).refuse('INTERNAL_SERVER_ERROR');
    await settled();
    expect(server.mutations().map(({ name }) => name)).toEqual(['Like', 'Unlike']);
  });

  it('is not said to be refused where something broke after it may have been stored', async () => {
    await watch();
    tap();
    mutation(0).refuse('INTERNAL_SERVER_ERROR');
    await settled();
    expect(shown()).toMatchObject({ liked: false, count: 10, phase: 'settled' });
    expect(shown().problem).toBe('Your like could not be confirmed. Please try again.');
  });
});

it('sends the last wish when the page is left', async () => {
  await watch();
  tap();
  tap();
  dispatchEvent(new Event('pagehide'));
  expect(server.mutations().map(({ name }) => name)).toEqual(['Like', 'Unlike']);
  const { idempotencyKey } = mutation(1).variables;
  // The page comes back: the wish is sent again, under its key.
  mutation(0).answer({ like: { item: item({ likeCount: 11, likedByMe: true, myReactionVersion: 1 }) } });
  await settled();
  expect(mutation(2).variables.idempotencyKey).toBe(idempotencyKey);
});

it('tells when every wish has found its outcome', async () => {
  await watch();
  tap();
  const told = vi.fn();
  void server.likes.idle().then(told);
  await settled();
  expect(told).not.toHaveBeenCalled();
  mutation(0).refuse('ITEM_CLOSED');
  await settled();
  expect(told).toHaveBeenCalled();
});

describe('offline', () => {
  it('waits, and sends the last wish alone', async () => {
    await watch();
    offline = true;
    tap();
    tap();
    tap();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(shown()).toEqual({ liked: true, count: 11, phase: 'waiting', problem: null });
    expect(server.mutations()).toHaveLength(0);
    offline = false;
    dispatchEvent(new Event('online'));
    await settled();
    expect(server.mutations().map(({ name }) => name)).toEqual(['Like']);
    expect(shown().phase).toBe('sending');
  });

  it('sends nothing where the last wish is what the server has', async () => {
    await watch();
    offline = true;
    tap();
    tap();
    offline = false;
    dispatchEvent(new Event('online'));
    await settled();
    expect(server.mutations()).toHaveLength(0);
    expect(shown()).toEqual({ liked: false, count: 10, phase: 'settled', problem: null });
  });

  it('does not use up the patience of a call that was under way', async () => {
    await watch();
    tap();
    offline = true;
    mutation(0).loseConnection();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(shown()).toMatchObject({ liked: true, phase: 'waiting', problem: null });
    offline = false;
    dispatchEvent(new Event('online'));
    await settled();
    expect(mutation(1).variables.idempotencyKey).toBe(mutation(0).variables.idempotencyKey);
  });
});

describe('watching', () => {
  it('opens one subscription for items that appear together', async () => {
    const ids = Array.from({ length: 150 }, (_, index) => `post:${index}`);
    const ends = ids.map((id) => server.likes.subscribe(id, () => {}));
    await settled();
    const open = () => server.asked.filter(({ kind, waits }) => kind === 'subscription' && waits());
    expect(open().map(({ variables }) => variables.ids.length)).toEqual([100, 50]);
    for (const end of ends.slice(0, 149)) end();
    await settled();
    expect(open().map(({ variables }) => variables.ids.length)).toEqual([50]);
    ends[149]?.();
    await settled();
    expect(open()).toHaveLength(0);
  });

  it('reads again when the page is shown, and when the network is back', async () => {
    await watch();
    const reads = () => server.asked.filter(({ name }) => name === 'LikeStates').length;
    expect(reads()).toBe(0);
    document.dispatchEvent(new Event('visibilitychange'));
    await settled();
    expect(reads()).toBe(1);
    server.asked.at(-1)?.answer({ items: [item({ likeCount: 12, countVersion: 105 })] });
    expect(shown().count).toBe(12);
    dispatchEvent(new Event('online'));
    await settled();
    expect(reads()).toBe(2);
  });

  it('goes on with the other items where one id is refused', async () => {
    for (const id of ['post:1', 'not an id', 'post:2']) server.likes.subscribe(id, () => {});
    await settled();
    for (let round = 0; round < 4; round++) {
      for (const request of server.asked) {
        if (request.waits() && request.variables.ids.includes('not an id')) request.refuse('BAD_USER_INPUT');
      }
      await settled();
    }
    const open = server.asked.filter(({ kind, waits }) => kind === 'subscription' && waits());
    expect(open.flatMap(({ variables }) => variables.ids).sort()).toEqual(['post:1', 'post:2']);
  });

  it('comes back to a server that had no room', async () => {
    await watch();
    const open = () => server.asked.filter(({ kind, waits }) => kind === 'subscription' && waits());
    open()[0]?.refuse('LIMIT_EXCEEDED');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(open()).toHaveLength(1);
  });

  it('shows who else likes an item whose friends could not be read, and takes them later', async () => {
    await watch(item({ likeCount: 11, likedByMe: true, myReactionVersion: 1, friendLikers: null }));
    expect(server.likes.state('post:1').othersCount).toBe(10);
    const friendLikers = { users: [{ id: 'ben', name: 'Ben' }], othersCount: 9, complete: true };
    server.push(item({ likeCount: 11, likedByMe: true, myReactionVersion: 1, friendLikers }));
    expect(server.likes.state('post:1')).toMatchObject({ othersCount: 9, friends: [{ id: 'ben' }] });
  });

  it('opens a subscription anew that ended with an error', async () => {
    await watch();
    const open = () => server.asked.filter(({ kind, waits }) => kind === 'subscription' && waits());
    open()[0]?.loseConnection();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(open()).toHaveLength(1);
    server.push(item({ likeCount: 13, countVersion: 110 }));
    expect(shown().count).toBe(13);
  });

  it('takes no tap while the heart is not known, and counts nobody in or out', async () => {
    server.likes.subscribe('post:1', () => {});
    tap();
    expect(shown()).toEqual({ liked: false, count: null, phase: 'loading', problem: null });
    await settled();
    server.push(item({ likedByMe: null, myReactionVersion: null, countFreshness: 'STALE' }));
    tap();
    await settled();
    expect(shown()).toEqual({ liked: false, count: 10, phase: 'loading', problem: null });
    expect(server.mutations()).toHaveLength(0);
    server.push(item({ likedByMe: true, myReactionVersion: 3 }));
    expect(shown()).toEqual({ liked: true, count: 10, phase: 'settled', problem: null });
    tap();
    expect(shown()).toMatchObject({ liked: false, count: 9 });
  });
});
