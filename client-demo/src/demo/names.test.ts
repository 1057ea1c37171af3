// @vitest-environment node
import { expect, it } from 'vitest';

import { initial, seen } from './names';

it.each([
  ['Ana', 'A'],
  ['ana', 'A'],
  ['  ben', 'B'],
  ['\u200bcleo', 'C'],
  ['🦊 Foxy', '🦊'],
  ['👨‍👩‍👧‍👦 Fam', '👨‍👩‍👧‍👦'],
  ['ßen', 'ß'],
  ['דנה', 'ד'],
  ['e\u0301va', 'E\u0301'],
])('%j is known by %j', (name, letter) => {
  expect(initial(name)).toBe(letter);
});

it('is no name where nothing of it can be seen', () => {
  for (const name of [null, '', '   ', '\u200b', '\u202e\u00a0']) expect(seen(name)).toBeNull();
  for (const name of ['Ana', '🦊', '.']) expect(seen(name)).toBe(name);
});
