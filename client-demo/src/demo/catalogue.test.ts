// @vitest-environment node
import { expect, it } from 'vitest';

import { canBeItem, items } from './catalogue';

it.each(['a', 'post:1', 'a+b/c%', '!~', 'x'.repeat(255)])('%j can be an item', (id) => {
  expect(canBeItem(id)).toBe(true);
});

it.each(['', ' ', 'a b', 'café', 'a\n', '\u007f', 'x'.repeat(256)])('%j can not', (id) => {
  expect(canBeItem(id)).toBe(false);
});

it('has only items that can be', () => {
  expect(items.filter(({ id }) => !canBeItem(id))).toEqual([]);
});
