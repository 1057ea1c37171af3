// Keeps watched items live: one subscription for items that appear together, and a read whenever pushes may have been missed.

import type { Client, CombinedError } from '@urql/core';
import { onEnd, pipe, subscribe } from 'wonka';

import { LikeStatesDocument, LikeUpdatesDocument } from '../graphql/generated';
import { backoff, onReturn, pause } from './pause';

/** As many as the server takes in one subscription or query. */
const MOST_IDS = 100;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
/** How long the first events of a subscription may take before the state is read without one. */
const FIRST_EVENT_MS = 1_000;
/** Tries of a read; a subscription is tried for as long as somebody watches. */
const READ_TRIES = 4;

/** Items that are watched by one subscription. */
interface Group {
  readonly ids: readonly string[];
  end(): void;
}

export class Watcher {
  private readonly client: () => Client;
  private readonly isKnown: (itemId: string) => boolean;
  /** How many watch an item. */
  private readonly watched = new Map<string, number>();
  private readonly groups = new Map<string, Group>();
  private pending = false;
  private readonly stopListening: () => void;

  constructor(client: () => Client, isKnown: (itemId: string) => boolean) {
    this.client = client;
    this.isKnown = isKnown;
    // A hidden page may have slept through anything, and a phone's socket may be dead without knowing it.
    this.stopListening = onReturn(() => this.refreshAll());
  }

  watch(itemId: string): () => void {
    this.watched.set(itemId, (this.watched.get(itemId) ?? 0) + 1);
    this.arrange();
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      const left = (this.watched.get(itemId) ?? 0) - 1;
      if (left > 0) this.watched.set(itemId, left);
      else this.watched.delete(itemId);
      this.arrange();
    };
  }

  /** Reads items now. */
  refresh(ids: readonly string[]): void {
    for (const part of parts(ids)) void this.read(part);
  }

  refreshAll(): void {
    this.refresh([...this.watched.keys()]);
  }

  close(): void {
    this.stopListening();
    this.watched.clear();
    for (const group of new Set(this.groups.values())) group.end();
    this.groups.clear();
  }

  /** Once for all the buttons that come and go in one rendering. */
  private arrange(): void {
    if (this.pending) return;
    this.pending = true;
    setTimeout(() => {
      this.pending = false;
      for (const group of new Set(this.groups.values())) {
        if (group.ids.some((id) => this.watched.has(id))) continue;
        group.end();
        for (const id of group.ids) this.groups.delete(id);
      }
      const added = [...this.watched.keys()].filter((id) => !this.groups.has(id));
      for (const part of parts(added)) this.open(part);
      if (added.length > 0) setTimeout(() => this.readMissing(added), FIRST_EVENT_MS);
    });
  }

  /** A subscription, whose first events are the present state; opened anew for as long as somebody watches. */
  private open(ids: readonly string[]): void {
    let ended = false;
    let unsubscribe = () => {};
    const group: Group = {
      ids,
      end() {
        ended = true;
        unsubscribe();
      },
    };
    for (const id of ids) this.groups.set(id, group);

    const again = async (attempt: number, error: CombinedError | undefined) => {
      if (ended) return;
      if (error !== undefined && isRefusal(error)) {
        // One id at fault must not keep the others from being watched.
        group.end();
        if (ids.length > 1) for (const half of halves(ids)) this.open(half);
        return;
      }
      await pause(backoff(attempt, FIRST_PAUSE_MS, LONGEST_PAUSE_MS));
      if (!ended) start(attempt + 1);
    };
    const start = (attempt: number) => {
      let tries = attempt;
      let over = false;
      const end = (error?: CombinedError) => {
        if (over) return;
        over = true;
        // Not from within the source that is ending.
        queueMicrotask(() => {
          subscription.unsubscribe();
          void again(tries, error);
        });
      };
      const subscription = pipe(
        this.client().subscription(LikeUpdatesDocument, { ids: [...ids] }),
        onEnd(() => end()),
        subscribe((result) => {
          if (result.error) end(result.error);
          else tries = 1;
        }),
      );
      unsubscribe = subscription.unsubscribe;
    };
    start(1);
  }

  private readMissing(ids: readonly string[]): void {
    this.refresh(ids.filter((id) => this.watched.has(id) && !this.isKnown(id)));
  }

  private async read(ids: readonly string[]): Promise<void> {
    for (let attempt = 1; attempt <= READ_TRIES; attempt++) {
      const query = this.client().query(LikeStatesDocument, { ids: [...ids] }, { requestPolicy: 'network-only' });
      const { error } = await query.toPromise();
      if (error === undefined) return;
      if (isRefusal(error)) {
        if (ids.length > 1) for (const half of halves(ids)) void this.read(half);
        return;
      }
      await pause(backoff(attempt, FIRST_PAUSE_MS, LONGEST_PAUSE_MS));
    }
  }
}

/** Whether the server refused what was asked, so that asking the same again is of no use. */
function isRefusal(error: CombinedError): boolean {
  return error.graphQLErrors[0]?.extensions?.code === 'BAD_USER_INPUT';
}

function parts(ids: readonly string[]): string[][] {
  const starts = Array.from({ length: Math.ceil(ids.length / MOST_IDS) }, (_, index) => index * MOST_IDS);
  return starts.map((start) => ids.slice(start, start + MOST_IDS));
}

function halves(ids: readonly string[]): [string[], string[]] {
  const middle = ids.length >> 1;
  return [ids.slice(0, middle), ids.slice(middle)];
}
