// The like state of one viewer's items: the newest that is known of each, and what the viewer wants.

import type { Client, Exchange, OperationResult } from '@urql/core';
import { map, pipe } from 'wonka';

import { newWish, type Outcome, once, send, type Wish } from './call';
import { takeItems } from './items';
import { type ItemLikes, newest, withHeart } from './newest';
import { Watcher } from './watcher';

/** What a button shows of an item. */
export interface LikeState {
  /** Whether the heart is filled: what the viewer wants, from the moment of the tap. */
  readonly liked: boolean;
  /** Likes to show, the viewer's own wish in it; null until first known. */
  readonly count: number | null;
  /** Friends of the viewer who like the item, at most two. */
  readonly friends: readonly { readonly id: string; readonly name: string | null }[];
  /** The N of “Liked by you, Ana, Ben and N others”. */
  readonly othersCount: number;
  /**
   * `loading`: the heart is not known, so that a tap would mean nothing. `sending`: a wish is on its way. `waiting`: the
   * network is away, and the last wish is sent when it is back.
   */
  readonly phase: 'loading' | 'settled' | 'sending' | 'waiting';
  /** Why the last wish was undone; null after the next tap. */
  readonly problem: string | null;
  /** The count may lag by more than a few seconds. */
  readonly stale: boolean;
  /** Every like before this instant is in the count (RFC 3339). */
  readonly countAsOf: string | null;
}

/** A state of an item that the server pushed. */
export interface Push {
  /** `performance.now()` at its arrival. */
  readonly at: number;
  readonly count: number;
  readonly countAsOf: string;
}

export interface LikesOptions {
  /** Whether there is a viewer. */
  readonly signedIn: boolean;
  /** Called when somebody taps who is not signed in; `like` is for the item once they are. */
  readonly askToSignIn?: (itemId: string) => void;
}

interface Entry {
  known: ItemLikes | undefined;
  /** What the viewer wants last, until the server has it. */
  wish: Wish | null;
  /** Whether a call is under way: there is one at a time for each item. */
  calling: boolean;
  offline: boolean;
  /** The last wish, where it failed. */
  failed: Failed | null;
  shown: LikeState;
  readonly listeners: Set<() => void>;
  readonly pushed: Set<(push: Push) => void>;
}

/** A wish that was given up, and why. What the viewer is told of it depends on what turns out to be. */
interface Failed {
  readonly liked: boolean;
  readonly problem: string;
  /** `performance.now()` after which nothing late is put down to it. */
  readonly until: number;
  told: boolean;
}

/** How long after it was given up a call may still arrive, by way of a server that had stopped. */
const LATE_MS = 60_000;

const UNKNOWN: LikeState = {
  liked: false,
  count: null,
  friends: [],
  othersCount: 0,
  phase: 'loading',
  problem: null,
  stale: false,
  countAsOf: null,
};

/** One for each viewer, beside the viewer's client: `exchange` goes right after the cache. */
export class Likes {
  private readonly options: LikesOptions;
  private readonly entries = new Map<string, Entry>();
  private client: Client | undefined;
  private readonly watcher = new Watcher(
    () => this.ready(),
    (itemId) => this.entries.get(itemId)?.known !== undefined,
  );

  private readonly awaitingIdle: (() => void)[] = [];

  constructor(options: LikesOptions) {
    this.options = options;
    addEventListener('pagehide', this.leave);
  }

  /** Lets only the newest of each item through to the cache, from whatever query, answer or push it comes. */
  readonly exchange: Exchange = ({ client, forward }) => {
    this.client = client;
    return (operations) =>
      pipe(
        forward(operations),
        map((result: OperationResult) => {
          if (result.data == null) return result;
          const isPush = result.operation.kind === 'subscription';
          return { ...result, data: takeItems(result.data, (item) => this.take(item, isPush)) };
        }),
      );
  };

  /** What to show of an item: the same object until something changes. */
  state(itemId: string): LikeState {
    return this.entries.get(itemId)?.shown ?? UNKNOWN;
  }

  /** Watches an item, live, until the returned function is called. */
  subscribe(itemId: string, listener: () => void): () => void {
    const entry = this.entry(itemId);
    const unwatch = this.watcher.watch(itemId);
    entry.listeners.add(listener);
    return () => {
      entry.listeners.delete(listener);
      unwatch();
    };
  }

  /** Hears each push of an item that is watched. */
  onPush(itemId: string, listener: (push: Push) => void): () => void {
    const entry = this.entry(itemId);
    entry.pushed.add(listener);
    return () => entry.pushed.delete(listener);
  }

  /** The viewer taps the heart: wants what is not shown. */
  tap(itemId: string): void {
    if (!this.options.signedIn) {
      this.options.askToSignIn?.(itemId);
      return;
    }
    const entry = this.entry(itemId);
    if (entry.shown.phase !== 'loading') this.want(itemId, entry, !entry.shown.liked);
  }

  /** The viewer wants to like an item whose heart they may not have seen yet: what they tapped before they signed in. */
  like(itemId: string): void {
    this.want(itemId, this.entry(itemId), true);
  }

  dismissProblem(itemId: string): void {
    const entry = this.entry(itemId);
    entry.failed = null;
    this.show(entry);
  }

  /** Reads all watched items now, beside their pushes: for a page that wants to know how old its counts are. */
  refresh(): void {
    this.watcher.refreshAll();
  }

  /** Ends when every wish has found its outcome. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.awaitingIdle.push(resolve);
      this.tellIdle();
    });
  }

  /** Ends all watching. */
  close(): void {
    removeEventListener('pagehide', this.leave);
    this.watcher.close();
  }

  /**
   * The page is being left: a wish that waits for a call to end is sent after it, and not waited for. On an even network it
   * arrives in that order; otherwise it would not arrive at all.
   */
  private readonly leave = (): void => {
    for (const [itemId, { wish, calling }] of this.entries) {
      if (calling && wish?.sentAt === null && navigator.onLine) void once(this.ready(), itemId, wish);
    }
  };

  private tellIdle(): void {
    if ([...this.entries.values()].some(({ calling }) => calling)) return;
    for (const tell of this.awaitingIdle.splice(0)) tell();
  }

  private ready(): Client {
    if (this.client === undefined) throw new Error('Likes.exchange must be one of the exchanges of a client');
    return this.client;
  }

  private want(itemId: string, entry: Entry, liked: boolean): void {
    entry.wish = newWish(liked);
    entry.failed = null;
    this.show(entry);
    void this.carryOut(itemId, entry);
  }

  /** Sends wishes, one after the other, until the server has the last one. */
  private async carryOut(itemId: string, entry: Entry): Promise<void> {
    if (entry.calling) return;
    entry.calling = true;
    let isHeartSure = true;
    while (entry.wish !== null) {
      const wish = entry.wish;
      // Taps that came during a call may have led back to where it left the heart.
      if (isHeartSure && wish.sentAt === null && entry.known?.likedByMe === wish.liked) {
        entry.wish = null;
        break;
      }
      const outcome = await send({
        client: this.ready(),
        itemId,
        wish,
        heartVersion: () => entry.known?.myReactionVersion ?? -1,
        isWanted: () => entry.wish === wish,
        stands: () => stands(wish, entry.known),
        onWaiting: (offline) => {
          entry.offline = offline;
          this.show(entry);
        },
      });
      isHeartSure = outcome.is !== 'unclear';
      this.settle(itemId, entry, wish, outcome);
    }
    entry.calling = false;
    this.show(entry);
    this.tellIdle();
  }

  private settle(itemId: string, entry: Entry, wish: Wish, outcome: Outcome): void {
    if (outcome.is === 'superseded') return;
    const last = entry.wish ?? wish;
    // Where it is not known whether the last call will still arrive, none can follow it: every wish is given up, and what
    // became of them is read.
    if (last === wish || outcome.is === 'given-up') {
      entry.wish = null;
      if (outcome.is !== 'answered') {
        const problem = problemText(last, outcome);
        entry.failed = { liked: last.liked, problem, until: performance.now() + LATE_MS, told: false };
      }
    }
    // Undone, or overtaken by the viewer's other device: what is shown now had better be the present.
    if (entry.known?.likedByMe !== wish.liked) this.watcher.refresh([itemId]);
    this.show(entry);
  }

  private take(answer: ItemLikes, isPush: boolean): ItemLikes {
    const entry = this.entry(answer.id);
    const before = entry.known;
    entry.known = newest(before, answer);
    if (entry.known !== before) this.show(entry);
    if (isPush) {
      const push = { at: performance.now(), count: entry.known.likeCount, countAsOf: entry.known.countAsOf };
      for (const listener of entry.pushed) listener(push);
    }
    return entry.known;
  }

  private show(entry: Entry): void {
    const { known, wish } = entry;
    const heart = wish?.liked ?? known?.likedByMe ?? null;
    const liked = heart ?? false;
    entry.shown = {
      liked,
      count: known === undefined ? null : wish === null ? known.likeCount : withHeart(known, liked),
      friends: known?.friendLikers?.users ?? [],
      othersCount: known?.friendLikers?.othersCount ?? (known === undefined ? 0 : withHeart(known, false)),
      phase: entry.offline ? 'waiting' : wish !== null ? 'sending' : heart === null ? 'loading' : 'settled',
      problem: problemOf(entry),
      stale: known?.countFreshness === 'STALE',
      countAsOf: known?.countAsOf ?? null,
    };
    for (const listener of entry.listeners) listener();
  }

  private entry(itemId: string): Entry {
    let entry = this.entries.get(itemId);
    if (entry === undefined) {
      entry = {
        known: undefined,
        wish: null,
        calling: false,
        offline: false,
        failed: null,
        shown: UNKNOWN,
        listeners: new Set(),
        pushed: new Set(),
      };
      this.entries.set(itemId, entry);
    }
    return entry;
  }
}

/** Whether a wish that was sent is what the server has: by this tap, or by the viewer's other device. */
function stands(wish: Wish, known: ItemLikes | undefined): boolean {
  if (wish.sentAt === null || known?.likedByMe !== wish.liked) return false;
  return known.myReactionVersion !== null && known.myReactionVersion > wish.sentAt;
}

/**
 * What to say of the last wish: nothing where all is as the viewer wanted it, be it that the wish was carried out after all.
 * A wish that seemed fulfilled may be undone by the call before it, which was given up and arrives late.
 */
function problemOf(entry: Entry): string | null {
  const { failed, known } = entry;
  if (failed === null) return null;
  const isFulfilled = known?.likedByMe === failed.liked;
  if (!isFulfilled && (failed.told || performance.now() < failed.until)) {
    failed.told = true;
    return failed.problem;
  }
  if (failed.told) entry.failed = null;
  return null;
}

function problemText(wish: Wish, outcome: Outcome): string {
  const what = wish.liked ? 'Your like' : 'Taking your like back';
  // It may have arrived all the same.
  if (outcome.is !== 'refused') return `${what} could not be confirmed. Please try again.`;
  switch (outcome.code) {
    case 'ITEM_CLOSED':
      return 'This takes no new likes.';
    case 'ITEM_NOT_FOUND':
      return 'This no longer exists.';
    case 'UNAUTHENTICATED':
    case 'FORBIDDEN':
      return `${what} was not accepted. Please sign in again.`;
    default:
      return `${what} was not accepted.`;
  }
}
