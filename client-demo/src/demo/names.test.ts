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
  for (const name of [null, '', '   ', '\u200b', '\u202e\u00a0', '\u3164', '\uffa0', '\u2800', '\ufe0f', '\u0301']) {
    expect(seen(name)).toBeNull();
  }
  for (const name of ['Ana', '🦊', '.']) expect(seen(name)).toBe(name);
});

it('does not turn the words around it', () => {
  expect(seen('\u2069\u202eevil')).toBe('evil');
});
