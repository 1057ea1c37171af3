// Waiting between tries: longer each time, never in step with other clients, and no longer than it makes sense.

/** Milliseconds before try number `attempt` (from 1): doubling from `first` to `most`, of which half is left to chance. */
export function backoff(attempt: number, first: number, most: number): number {
  const longest = Math.min(first * 2 ** (attempt - 1), most);
  return longest * (0.5 + Math.random() / 2);
}

/** What ends a wait early: the network is back, or the page is looked at again. */
const WAKING = ['online', 'pageshow', 'visibilitychange'] as const;

/** Ends after `milliseconds`, or as soon as there is a better reason to try again. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      for (const name of WAKING) removeEventListener(name, woken, true);
      resolve();
    };
    const woken = () => {
      if (document.visibilityState === 'visible' && navigator.onLine) end();
    };
    const timer = setTimeout(end, milliseconds);
    // On the window, in the capture phase: this hears the document's events as well.
    for (const name of WAKING) addEventListener(name, woken, true);
  });
}

/** Ends after `milliseconds`, whatever happens: where somebody asked for that time. */
export function rest(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Calls `back` whenever the page is seen or the network is there again. Returns how to end that. */
export function onReturn(back: () => void): () => void {
  const woken = () => {
    if (document.visibilityState === 'visible' && navigator.onLine) back();
  };
  for (const name of WAKING) addEventListener(name, woken, true);
  return () => {
    for (const name of WAKING) removeEventListener(name, woken, true);
  };
}
