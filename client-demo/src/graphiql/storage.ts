// What GraphiQL remembers from one visit to the next: tabs and their texts, the sizes of its parts.

import type { GraphiQLProps } from 'graphiql';

type StorageProps = Pick<GraphiQLProps, 'storage'>;

/** Where GraphiQL 5 keeps the tabs, and the variables of the one that is open. */
const HOLDERS = ['graphiql:tabState', 'graphiql:variables'];
/** An idempotency key that `examples` has made. */
const EXAMPLE_KEY = /\b(like|unlike)-\d+\b/g;

/** For browsers that keep nothing, such as with all cookies blocked. */
const NO_MEMORY: StorageProps = {
  storage: { getItem: () => null, setItem() {}, removeItem() {}, clear() {}, length: 0 },
};

/**
 * What GraphiQL is told of storage: nothing where its own choice works, which is its part of the browser's.
 *
 * The examples' idempotency keys that lie in it become those of this visit. With the keys of an earlier one, Like would
 * answer as it did then, and like nothing.
 */
export function storageProps(visit: string): StorageProps {
  try {
    for (const holder of HOLDERS) {
      const text = localStorage.getItem(holder);
      if (text !== null) localStorage.setItem(holder, text.replace(EXAMPLE_KEY, `$1-${visit}`));
    }
    return {};
  } catch {
    return NO_MEMORY;
  }
}
