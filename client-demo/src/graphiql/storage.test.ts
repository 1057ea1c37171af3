import { afterEach, expect, it, vi } from 'vitest';

import { examples } from './examples';
import { storageProps } from './storage';

const TABS = 'graphiql:tabState';
const VARIABLES = 'graphiql:variables';

afterEach(() => {
  vi.unstubAllGlobals();
  localStorage.clear();
});

/** As GraphiQL stores its tabs. */
function tabState(visit: string): string {
  return JSON.stringify({ activeTabIndex: 1, tabs: examples(visit) });
}

it('gives the operations of a returning visitor new idempotency keys', () => {
  localStorage.setItem(TABS, tabState('17'));
  localStorage.setItem(VARIABLES, examples('17')[1]?.variables ?? '');
  expect(storageProps('4294967295')).toEqual({});
  expect(localStorage.getItem(TABS)).toBe(tabState('4294967295'));
  expect(localStorage.getItem(VARIABLES)).toBe(examples('4294967295')[1]?.variables);
});

it('leaves what the visitor wrote as it is', () => {
  const written = '{ "idempotencyKey": "my-like-key", "itemId": "post:1" }';
  localStorage.setItem(VARIABLES, written);
  storageProps('17');
  expect(localStorage.getItem(VARIABLES)).toBe(written);
});

it('stores nothing for a new visitor', () => {
  expect(storageProps('17')).toEqual({});
  expect(localStorage).toHaveLength(0);
});

it('does without a memory where the browser has none', () => {
  vi.stubGlobal('localStorage', {
    getItem() {
      throw new DOMException('Access is denied for this document.', 'SecurityError');
    },
  });
  const { storage } = storageProps('17');
  storage?.setItem(TABS, tabState('17'));
  expect(storage?.getItem(TABS)).toBeNull();
});
