import { useSyncExternalStore } from 'react';

import { type BurstResult, sendBurst } from './burst';

export const LIKES = 300;

export interface BurstState extends BurstResult {
  readonly itemId: string;
  /** Null while it is being sent. */
  readonly millis: number | null;
  readonly cancelled: boolean;
}

// One burst at a time on the whole page, whichever pane began it: two would take the connections that taps need.
let state: BurstState | null = null;
let cancel = new AbortController();
const listeners = new Set<() => void>();

/** The burst that is being sent, or else the last one. */
export function useBurst(): BurstState | null {
  return useSyncExternalStore(subscribe, () => state);
}

export async function startBurst(itemId: string): Promise<BurstState | null> {
  if (state && state.millis === null) return null;
  cancel = new AbortController();
  const { signal } = cancel;
  const started = performance.now();
  const run = Math.random().toString(36).slice(2, 10);
  show({ itemId, done: 0, failed: 0, reason: null, broken: false, millis: null, cancelled: false });
  const result = await sendBurst({
    itemId,
    likes: LIKES,
    run,
    signal,
    onProgress: (progress) => show({ itemId, ...progress, millis: null, cancelled: signal.aborted }),
  });
  const over = { itemId, ...result, millis: performance.now() - started, cancelled: signal.aborted };
  show(over);
  return over;
}

export function cancelBurst(): void {
  cancel.abort();
}

function show(next: BurstState): void {
  state = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
